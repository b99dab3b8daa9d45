# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 05 From raw news to bands
#
# You have dated text without parses or coreference. Two commands produce posterior counts:
#
# 1. `corefsample score` parses the text with a spaCy pipeline, finds the mentions, and scores what each may refer to
#    with the English model of the package;
# 2. `corefsample events` counts.

# %%
# %matplotlib inline
import json
import tempfile
from pathlib import Path

import pandas as pd
import spacy
from IPython.display import Image
from terminal import run

temporary = tempfile.TemporaryDirectory()  # removed when the notebook is closed
folder = Path(temporary.name)

# %% [markdown]
# ## The news
#
# Ten short articles, written for this notebook, in JSON Lines: one article per line, with `doc_id`, `date` and
# `text`. CSV, Parquet and NITF XML are read as well, and the columns may have other names (`corefsample score
# --help`).

# %%
ARTICLES = [
    (
        "own-01",
        "1991-01-14",
        "Iraqi troops crossed the border before dawn. They attacked a convoy near the river. The drivers fled on foot. "
        "Officials said that they had warned them.",
    ),
    (
        "own-02",
        "1991-02-20",
        "American warplanes circled over the city for an hour. Residents watched from their roofs. Then they attacked "
        "two bridges.",
    ),
    (
        "own-03",
        "1991-05-11",
        "The president of Croatia met two envoys in the capital. Yugoslav soldiers had attacked a village on Sunday. "
        "The president asked them to withdraw.",
    ),
    (
        "own-04",
        "1991-08-02",
        "Yugoslav soldiers waited in the barracks. Croatian guards surrounded it. After midnight they attacked the "
        "gate. A spokesman said that nobody was hurt.",
    ),
    (
        "own-05",
        "1991-09-17",
        "The town on the river has changed hands twice this month. Yugoslav tanks reached it on Monday. Croatian "
        "guards had left it on Sunday, and the mayor went with them. She said that the guards had no choice. On "
        "Tuesday they came back with new rifles. They attacked the tanks near the old mill. The soldiers left the mill "
        "and burned two trucks. Their commander said that he would return. The mayor does not believe him. She has "
        "heard from the villagers that his men are tired. They want to go home.",
    ),
    (
        "own-06",
        "1991-11-23",
        "A convoy was attacked by Croatian guards on the coast. They denied it. The convoy belonged to the army, and "
        "it carried medicine.",
    ),
    (
        "own-07",
        "1992-01-09",
        "A minister from Turkey visited the border. Iranian gunners had shelled it for two days. They held their fire "
        "while he was there. When he left, they attacked the road.",
    ),
    (
        "own-08",
        "1992-02-15",
        "The Turkish bank raised its rates on Friday. Traders welcomed it. They had feared that it would wait.",
    ),
    (
        "own-09",
        "1992-03-27",
        "Armenian fighters held the ridge. Azerbaijani soldiers climbed it at night. They attacked them with mortars. "
        "The fighters withdrew to the valley.",
    ),
    (
        "own-10",
        "1992-06-05",
        "Envoys from Azerbaijan came to the valley for talks. Armenian gunners attacked their cars. They turned back. "
        "The gunners said that they had seen soldiers in them.",
    ),
]
with (folder / "news.jsonl").open("w", encoding="utf-8") as stream:
    for doc_id, date, text in ARTICLES:
        stream.write(json.dumps({"doc_id": doc_id, "date": date, "text": text}) + "\n")

# %% [markdown]
# ## A pipeline that parses
#
# Any English spaCy pipeline with a parser works. We use an installed one, or the one beside the project. If there is
# none, we use the hand-written parses in own_news.conllu: parsed text can be scored without a pipeline.

# %%
installed = sorted(name for name in spacy.util.get_installed_models() if name.startswith("en_"))
beside = (Path("..") / ".." / "shared" / "models" / "en_gum_ud").resolve()
pipeline = installed[0] if installed else str(beside) if beside.exists() else None
if pipeline is None:
    print(
        "No English spaCy pipeline is installed, so the parses made by hand are scored. To have one:\n"
        "  python -m spacy download en_core_web_sm"
    )
else:
    print(f"The pipeline is {Path(pipeline).name}.")

# %% [markdown]
# ## First command: score
#
# The command also writes a record of what was scored, with which model and pipeline, beside the file.

# %%
if pipeline is not None:
    run(f"corefsample score news.jsonl --pipeline {pipeline} --workers 1 --out scored.parquet", folder)
else:
    (folder / "news.conllu").write_bytes(Path("own_news.conllu").read_bytes())
    run("corefsample score news.conllu --mentions parse --out scored.parquet", folder)

# %% [markdown]
# `doctor` shows what is in the file.

# %%
run("corefsample doctor scored.parquet", folder)

# %% [markdown]
# ## Second command: count

# %%
run("corefsample events scored.parquet --rule attack --period quarter --out run", folder)
Image(filename=folder / "run" / "bands.png")

# %% [markdown]
# Each panel is a country, each point a quarter; the line is the posterior mean, the band the 95% credible interval,
# the dashed line the single best answer. With ten articles the counts are small, and a band from 0 to 1 means that
# the model is uncertain whether there was an attack at all.
#
# ## The evidence by article
#
# One row per article and country. Read the articles above and see whether you agree.

# %%
evidence = pd.read_parquet(folder / "run" / "evidence.parquet", filters=[("probability", ">", 0)])
evidence[["doc_id", "actor", "probability", "one_best", "role_mentions"]].round(3)

# %% [markdown]
# In several articles "they" could refer to two groups. In own-02 the warplanes attack; a reader knows that residents on
# roofs do not attack bridges. What probability does the model give?

# %%
american = evidence.loc[(evidence["doc_id"] == "own-02") & (evidence["actor"] == "USA"), "probability"].sum()
print(f"own-02: P(the United States attack) = {american:.3f}")

# %% [markdown]
# A low number is a confident error of the model. The model uses number, gender and distance, but has no knowledge of
# the world. Therefore calibration has to be measured on annotated text of the same kind (notebook 02), not assumed.

# %% [markdown]
# ## What the band does not cover: the parse
#
# The same scores, counted with the preset `extended`, which matches more: "Yugoslav soldiers" counts whichever label
# the parser gives "Yugoslav". Where the two presets differ, the parse or the definition of the rule decides, and no
# band covers that.

# %%
run("corefsample events scored.parquet --rule attack --preset extended --no-pictures --out extended", folder)
wider = pd.read_parquet(folder / "extended" / "evidence.parquet", filters=[("probability", ">", 0)])
both = pd.DataFrame(
    {
        preset: table.groupby(["doc_id", "actor"])["probability"].sum()
        for preset, table in (("paper", evidence), ("extended", wider))
    }
).fillna(0.0)
differ = both[(both["paper"] - both["extended"]).abs() > 0.1]
print(f"{len(differ)} of {len(both)} pairs of article and country differ by more than 0.1 between the presets.")
differ.round(3)

# %% [markdown]
# ## With your own news
#
# ```sh
# corefsample score my_news.csv --pipeline en_core_web_sm --date-column published --out scored.parquet
# corefsample events scored.parquet --period quarter --out run
# ```
#
# - Long corpora: `score --workers` uses several processes, and the same command continues an interrupted run.
# - If you have annotated documents of the same kind: `corefsample recalibrate annotated.jsonl.gz scored.parquet --out
#   recalibrated.parquet`, then count in `recalibrated.parquet`.
# - Another language or kind of text: `corefsample train corpus.conllu --out model.npz`, then `score --model model.npz`.
