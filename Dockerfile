# The wheel is built in one stage and installed in the next, so that the image has no sources and no build tools.
#   docker build -t corefsample .
#   docker run --rm --user "$(id -u)" -v "$PWD:/data" corefsample demo --out demo
# The Python for which constraints.txt was made.
ARG PYTHON=3.11
FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY corefsample corefsample
COPY events events
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:${PYTHON}-slim AS installed
LABEL org.opencontainers.image.title=corefsample org.opencontainers.image.version=0.11.0
# Compiled kernels and the list of fonts belong to the image: a container starts with them, whoever runs it.
ENV NUMBA_CACHE_DIR=/opt/corefsample/kernels \
    MPLCONFIGDIR=/opt/corefsample/matplotlib \
    PYTHONUNBUFFERED=1
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/
# The versions are those with which the project is tested, and the pipeline that of the documentation.
RUN python -m pip install --no-cache-dir -c /wheels/constraints.txt \
        "$(ls /wheels/corefsample-*.whl)[report,dask]" \
    && python -m spacy download --direct en_core_web_sm-3.8.0 \
    && rm -r /wheels \
    && useradd --create-home analyst \
    && mkdir -p /opt/corefsample /data \
    && chown analyst /opt/corefsample /data
USER analyst
RUN python -c "import matplotlib.font_manager"
WORKDIR /data
ENTRYPOINT ["corefsample"]
CMD ["demo", "--out", "corefsample-demo"]

# Scores and counts one article: an image that cannot is not built.
FROM installed AS checked
RUN printf 'doc_id,date,text\na1,2001-02-03,"Police arrested three men in the old town. They took them away."\n' > /tmp/news.csv \
    && corefsample score /tmp/news.csv --pipeline en_core_web_sm --workers 1 --out /tmp/scored.parquet \
    && corefsample events /tmp/scored.parquet --rule arrest --lexicon police --out /tmp/run \
    && grep POLICE /tmp/run/counts.csv

# Kernels for any processor of the architecture, for a cluster of several kinds: docker build --target generic
FROM installed AS generic
COPY --from=checked /tmp/run/counts.csv /opt/corefsample/checked.csv
ENV NUMBA_CPU_NAME=generic
RUN corefsample warm-up && chmod -R a+rwX /opt/corefsample

# Kernels for the processor of the building machine; another kind compiles them once more.
FROM installed
COPY --from=checked /tmp/run/counts.csv /opt/corefsample/checked.csv
RUN corefsample warm-up && chmod -R a+rwX /opt/corefsample
