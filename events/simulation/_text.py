"""What simulated news says: kinds of entities, and sentences about them with their parse in UD v2.

Every event is invented. The notation is that of `events.simulation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["ATTACKS", "KINDS", "OTHER_ATTACKS", "TOPICS", "Kind", "Topic"]


@dataclass(frozen=True, slots=True)
class Kind:
    """Entities that are spoken of alike.

    Attributes
    ----------
    pronoun
        What refers to one: they, it, person (he or she), or nothing for none.
    nouns
        Choices for ``@``, apart by blanks.
    first, later
        Noun phrases that bring one up, and that come back to it, apart by bars; ``@`` is the noun. One with a slot that
        the entity has no country for is not used.
    """

    pronoun: str
    nouns: str
    first: str
    later: str


@dataclass(frozen=True, slots=True)
class Topic:
    """What an article can be about.

    Attributes
    ----------
    roles
        Letters of slots, each with kinds to choose from; digits say which of the article's countries are the entity's.
    sentences
        One a line.
    """

    roles: str
    sentences: str


KINDS: Mapping[str, Kind] = {
    "force": Kind(
        "they",
        "forces=force troops=troop soldiers=soldier warplanes=warplane tanks=tank commandos=commando gunners=gunner",
        "{adj}/amod @/N|the {adj}/amod @/N|@/N of {name}/nmod|@/N from {name}/nmod|{name's}/nmod:poss @/N"
        "|{abbr}/compound @/N|{adj}/amod @/N",
        "the @/N|the @/N|the @/N|{adj}/amod @/N|the {adj}/amod @/N|the @/N in {name2}/nmod",
    ),
    "joint": Kind(
        "they",
        "forces=force troops=troop warplanes=warplane",
        "{adj}/amod and {adj2}/conj/adj @/N",
        "the @/N|the allied/J/amod @/N|{adj}/amod and {adj2}/conj/adj @/N",
    ),
    "people": Kind("they", "fighters=fighter crews=crew", "{people}", "{people}|the {adj}/amod @/N|the @/N"),
    "country": Kind("it", "country", "{name}", "{name}|{name}|{name}|{abbr}|the @/N"),
    "official": Kind(
        "person",
        "president minister general ambassador envoy spokesman commander",
        "the @/N of {name}/nmod|the {adj}/amod @/N|{name's}/nmod:poss @/N|a {adj}/amod @/N",
        "the @/N|the @/N|the {adj}/amod @/N",
    ),
    "body": Kind(
        "it",
        "parliament government cabinet ministry court senate",
        "the {adj}/amod @/N|the @/N of {name}/nmod|{name's}/nmod:poss @/N",
        "the @/N|the @/N|the {adj}/amod @/N",
    ),
    "rebels": Kind(
        "they",
        "rebels=rebel guerrillas=guerrilla gunmen=gunman insurgents=insurgent militiamen=militiaman",
        "@/N|armed/J/amod @/N|some @/N",
        "the @/N|the @/N|@/N",
    ),
    "civilians": Kind(
        "they",
        "villagers=villager refugees=refugee residents=resident farmers=farmer families=family",
        "@/N|hundreds=hundred/N of @/N/nmod|some @/N",
        "the @/N|the @/N|these @/N",
    ),
    "town": Kind(
        "it",
        "Marvik Tolna Karsa Osreda Velk Dunharrow Selmet Orrin Pasko Lirva Tamrin Bredal Corvane Halden Zerat Norvo",
        "the town/N of @/PN/nmod|@/PN|the city/N of @/PN/nmod",
        "@/PN|@/PN|the town/N",
    ),
    "feature": Kind(
        "it",
        "border valley highway ridge airfield canal harbor plain",
        "the @/N|a @/N|the main/J/amod @/N",
        "the @/N",
    ),
    "day": Kind("", "Monday Tuesday Wednesday Thursday Friday Saturday Sunday", "@/PN", "@/PN"),
    "company": Kind(
        "it",
        "bank airline steelmaker retailer shipyard brewer insurer",
        "a {adj}/amod @/N|a large/J/amod @/N in {name}/nmod|the @/N",
        "the @/N|the @/N|the company/N",
    ),
    "traders": Kind(
        "they",
        "traders=trader investors=investor brokers=broker lenders=lender exporters=exporter",
        "@/N|many/J/amod @/N|foreign/J/amod @/N",
        "the @/N|@/N|these @/N",
    ),
    "expert": Kind(
        "person",
        "analyst economist professor historian engineer",
        "a @/N|a veteran/J/amod @/N|a {adj}/amod @/N",
        "the @/N",
    ),
    "measure": Kind(
        "it",
        "index currency bond budget tariff tax contract",
        "the @/N|a new/J/amod @/N|the {adj}/amod @/N",
        "the @/N",
    ),
    "party": Kind("it", "party coalition union opposition", "the @/N|a small/J/amod @/N", "the @/N"),
    "crowd": Kind(
        "they",
        "voters=voter students=student miners=miner teachers=teacher nurses=nurse supporters=supporter",
        "@/N|some @/N|many/J/amod @/N",
        "the @/N|the @/N|these @/N",
    ),
    "storm": Kind("it", "storm flood drought blizzard", "a @/N|a severe/J/amod @/N", "the @/N"),
    "helpers": Kind("they", "engineers=engineer rescuers=rescuer", "@/N|local/J/amod @/N", "the @/N"),
    "team": Kind(
        "it",
        "team side squad",
        "the {adj}/amod @/N|{name's}/nmod:poss @/N|the young/J/amod @/N",
        "the @/N|the {adj}/amod @/N",
    ),
    "player": Kind("person", "captain goalkeeper striker coach referee", "the @/N|a @/N", "the @/N"),
    "accused": Kind("person", "dealer banker driver clerk accountant", "a @/N|a former/J/amod @/N", "the @/N"),
    "jurist": Kind("person", "judge lawyer prosecutor witness", "a @/N|the @/N", "the @/N"),
    "science": Kind(
        "they", "researchers=researcher doctors=doctor biologists=biologist", "@/N|{adj}/amod @/N", "the @/N|@/N"
    ),
    "drug": Kind("it", "drug vaccine study treatment", "a @/N|a experimental/J/amod @/N", "the @/N"),
    "patients": Kind("they", "patients=patient children=child volunteers=volunteer", "@/N|older/J/amod @/N", "the @/N"),
    "animal": Kind("it", "dog bear bull", "a @/N|a large/J/amod @/N", "the @/N"),
    "critics": Kind("they", "critics=critic neighbors=neighbor youths=youth", "@/N|some @/N", "the @/N"),
}

_CONFLICT = """
{A}/nsubj advanced=advance/V on {P}/obl on {T}/obl .
{G}/nsubj said=say/V that {A}/nsubj/held held=hold/V/ccomp {Q}/obj/held .
{B}/nsubj withdrew=withdraw/V from {P}/obl after [heavy/J/amod/fighting fighting/N/obl] .
{V}/nsubj fled=flee/V toward {Q}/obl because {B}/nsubj/shelled shelled=shell/V/advcl {P}/obj/shelled .
{H}/nsubj accused=accuse/V {C}/obj of [a breach/N/obl of [the truce/N/nmod/breach]] .
{R}/nsubj seized=seize/V [a bridge/N/obj near {P}/nmod/bridge] before/S/mark/came {A}/nsubj/came came=come/V/advcl .
{D}/nsubj asked=ask/V {C}/obj to end/V/xcomp [the siege/N/obj/end of {P}/nmod/siege] .
[the fighting/N/nsubj near {P}/nmod/fighting] killed=kill/V [40/#/nummod/people people=person/N/obj] .
{G}/nsubj said=say/V in [a statement/N/obl] that {B}/nsubj/left had left=leave/V/ccomp {P}/obj/left .
{E}/nsubj crossed=cross/V {Q}/obj with [old/J/amod/rifles rifles=rifle/N/obl] .
[{A's}/nmod:poss/leader leader/N/nsubj] met=meet/V {H}/obj in {P}/obl on {T}/obl .
[the attack/N/nsubj on {Q}/nmod/attack] lasted=last/V for [two/#/nummod/hours hours=hour/N/obl] .
{P}/nsubj:pass was attacked=attack/V overnight/R/advmod .
{V}/nsubj said=say/V that {R}/nsubj/burned had burned=burn/V/ccomp [a school/N/obj/burned] .
{A}/nsubj surrounded=surround/V {R}/obj and captured=capture/V/conj [20/#/nummod/men men=man/N/obj/captured] .
{B}/nsubj fired=fire/V on {V}/obl while {A}/nsubj/watched watched=watch/V/advcl .
{D}/nsubj rejected=reject/V [a proposal/N/obj of {G}/nmod/proposal] on {T}/obl .
{B!}/nsubj and {R!}/conj/B exchanged=exchange/V [prisoners=prisoner/N/obj] near {Q}/obl .
[{B's}/nmod:poss/supplies supplies=supply/N/nsubj] would not reach/V {P}/obj before {T}/obl .
"""

# In each of these the paper's rule sees an agent of "attack" from the article's first country.
ATTACKS = """
{A?}/nsubj attacked=attack/V {P}/obj on {T}/obl .
{A?}/nsubj attacked=attack/V {B}/obj near {P}/obl .
{A?}/nsubj attacked=attack/V {Q}/obj before/S/mark/leave {V}/nsubj/leave could leave/V/advcl .
{P}/nsubj:pass was attacked=attack/V by {A?}/obl:agent on {T}/obl .
{B}/nsubj:pass had been attacked=attack/V near {Q}/obl by {A?}/obl .
{G}/nsubj said=say/V that {A?}/nsubj/attacked attacked=attack/V/ccomp {P}/obj/attacked .
{H}/nsubj said=say/V that {A?}/nsubj/attacked had attacked=attack/V/ccomp {V}/obj/attacked near {Q}/obl/attacked .
{G}/nsubj said=say/V that {A?}/nsubj/attack did not attack/V/ccomp {P}/obj/attack .
{A?}/nsubj might attack/V {Q}/obj before {T}/obl .
[a convoy/N/nsubj attacked=attack/V/acl/convoy by {A?}/obl:agent/attacked] reached=reach/V {P}/obj .
{C}/nsubj attacked=attack/V {D}/obj on {T}/obl .
{A!}/nsubj and {R!}/conj/A attacked=attack/V {P}/obj .
"""

# Attacks by others, and attacks that only a wider rule sees.
OTHER_ATTACKS = """
{R}/nsubj attacked=attack/V {A?}/obj near {P}/obl .
{R}/nsubj attacked=attack/V {P}/obj on {T}/obl .
{B}/nsubj attacked=attack/V {A?}/obj on {T}/obl .
{A?}/nsubj crossed=cross/V {Q}/obj and attacked=attack/V/conj {P}/obj/attacked .
{A?}/nsubj tried=try/V to attack/V/xcomp {P}/obj/attack on {T}/obl/attack .
{A!}/nsubj that=that/PR/nsubj/attacked attacked=attack/V/acl:relcl/A {P}/obj/attacked withdrew=withdraw/V to {Q}/obl .
{R!}/nsubj and {A!}/conj/R attacked=attack/V {Q}/obj .
[the attacking=attack/V/amod/columns columns=column/N/nsubj] reached=reach/V {Q}/obj on {T}/obl .
"""

_MARKETS = """
{X}/nsubj rose=rise/V by [2/#/nummod/percent percent/N/obl] on {T}/obl .
{N}/nsubj sold=sell/V [shares=share/N/obj of {M}/nmod/shares] after [weak/J/amod/results results=result/N/obl] .
{K}/nsubj said=say/V that {M}/nsubj/borrow would borrow/V/ccomp from {N}/obl/borrow .
{M}/nsubj closed=close/V [a plant/N/obj in {P}/nmod/plant] .
{C}/nsubj lowered=lower/V [{C's}/nmod:poss/rates interest/N/compound/rates rates=rate/N/obj] on {T}/obl .
{O}/nsubj changed=change/V {X}/obj after [talks=talk/N/obl with {N}/nmod/talks] .
{M}/nsubj bought=buy/V [a rival/N/obj in {D}/nmod/rival] for [a small/J/amod/sum sum/N/obl] .
{N}/nsubj feared=fear/V that {O}/nsubj/raise would raise/V/ccomp {X}/obj/raise .
[exports=export/N/nsubj from {C}/nmod/exports to {D}/nmod/exports] fell=fall/V in [the spring/N/obl] .
{K}/nsubj praised=praise/V {M!}/obj and [{M's}/nmod:poss/workers workers=worker/N/conj/M] .
{W}/nsubj left=leave/V [the plant/N/obj] because {M}/nsubj/cut had cut/V/advcl [wages=wage/N/obj/cut] .
"""

_POLITICS = """
{G}/nsubj met=meet/V {H}/obj in {P}/obl on {T}/obl .
{O}/nsubj passed=pass/V {X}/obj after [a long/J/amod/debate debate/N/obl] .
{L}/nsubj won=win/V [30/#/nummod/seats seats=seat/N/obj] in [the election/N/obl] .
{C!}/nsubj and {D!}/conj/C signed=sign/V [a treaty/N/obj on [fishing/N/compound/rights rights=right/N/nmod/treaty]] .
{G}/nsubj said=say/V that {O}/nsubj/change should change/V/ccomp {X}/obj/change .
{U}/nsubj blamed=blame/V {L}/obj for [high/J/amod/prices prices=price/N/obl] .
{K}/nsubj said=say/V that {U}/nsubj/trusted trusted=trust/V/ccomp {G}/obj/trusted .
{H}/nsubj rejected=reject/V [a proposal/N/obj by {G}/nmod/proposal] .
[{L's}/nmod:poss/leaders leaders=leader/N/nsubj] asked=ask/V {U}/obj to wait/V/xcomp until {T}/obl/wait .
{X}/nsubj:pass was attacked=attack/V in [the press/N/obl] .
[the attack/N/nsubj on {X}/nmod/attack] surprised=surprise/V {G}/obj .
{D}/nsubj recalled=recall/V [{D's}/nmod:poss/envoys envoys=envoy/N/obj from {C}/nmod/envoys] on {T}/obl .
"""

_WEATHER = """
{S}/nsubj reached=reach/V {P}/obj on {T}/obl .
{F}/nsubj warned=warn/V {V}/obj that {S}/nsubj/return would return/V/ccomp .
{V}/nsubj left=leave/V [{V's}/nmod:poss/homes homes=home/N/obj] near {Q}/obl .
{Q}/nsubj:pass was closed=close/V by {S}/obl:agent .
{O}/nsubj sent=send/V [blankets=blanket/N/obj] to {P}/obl for {V}/obl .
[the rain/N/nsubj] damaged=damage/V [the roads=road/N/obj to {P}/nmod/roads] .
{F}/nsubj found=find/V {V}/obj on [a roof/N/obl in {P}/nmod/roof] .
{C}/nsubj asked=ask/V {D}/obj for [tents=tent/N/obl and [clean/J/amod/water water/N/conj/tents]] .
[the water/N/nsubj] fell=fall/V after/S/mark/weakened {S}/nsubj/weakened weakened=weaken/V/advcl .
"""

_SPORT = """
{M}/nsubj beat/V {N}/obj in [the final/N/obl in {P}/nmod/final] on {T}/obl .
{Y}/nsubj scored=score/V [two/#/nummod/goals goals=goal/N/obj] against {N}/obl .
{U}/nsubj cheered=cheer/V {Y}/obj after [the match/N/obl] .
{Z}/nsubj said=say/V that {M}/nsubj/lost had lost=lose/V/ccomp [the ball/N/obj/lost] in [midfield/N/obl/lost] .
{M}/nsubj:pass was beaten=beat/V by {N}/obl:agent in [the first/J/amod/round round/N/obl] .
[{M's}/nmod:poss/defense defense/N/nsubj] stopped=stop/V {Y}/obj .
{N}/nsubj missed=miss/V [a penalty/N/obj] while {U}/nsubj/sang sang=sing/V/advcl .
{Y!}/nsubj and {Z!}/conj/Y left=leave/V {P}/obj before {T}/obl .
{C}/nsubj will play/V {D}/obj on {T}/obl in {P}/obl .
{Z}/nsubj criticized=criticize/V [the pitch/N/obj] after [the defeat/N/obl by {N}/nmod/defeat] .
"""

_SCIENCE = """
{F}/nsubj tested=test/V {Z}/obj on {V}/obl for [two/#/nummod/years years=year/N/obl] .
{Z}/nsubj helped=help/V [half/N/obj of {V}/nmod/half] .
{K}/nsubj said=say/V that {Z}/nsubj/harmed had harmed=harm/V/ccomp {V}/obj/harmed .
{O}/nsubj approved=approve/V {Z}/obj on {T}/obl .
[{F's}/nmod:poss/report report/N/nsubj] surprised=surprise/V {K}/obj .
{V}/nsubj told=tell/V {F}/obj that {Z}/nsubj/cost cost/V/ccomp [a fortune/N/obj/cost] .
[a laboratory/N/nsubj in {C}/nmod/laboratory] ordered=order/V {Z}/obj for {V}/obl .
{K}/nsubj doubted=doubt/V that {F}/nsubj/counted had counted=count/V/ccomp {V}/obj/counted .
"""

# Attacks in articles that name no country.
_LOCAL = """
{Z}/nsubj attacked=attack/V {Y}/obj near {Q}/obl on {T}/obl .
{Y}/nsubj:pass was attacked=attack/V by {Z}/obl:agent in {P}/obl .
{U}/nsubj attacked=attack/V {L}/obj in [a letter/N/obl] .
{J}/nsubj told=tell/V {Y}/obj that {U}/nsubj/left had left=leave/V/ccomp {P}/obj/left .
{V}/nsubj caught=catch/V {Z}/obj with [a net/N/obl] .
{J}/nsubj asked=ask/V {Y}/obj for [the keys=key/N/obl of [the safe/N/nmod/keys]] .
{Y}/nsubj said=say/V in [court/N/obl] that {J}/nsubj/lost had lost=lose/V/ccomp [the papers=paper/N/obj/lost] .
[{Y's}/nmod:poss/lawyers lawyers=lawyer/N/nsubj] questioned=question/V {U}/obj on {T}/obl .
{V}/nsubj wrote=write/V to {L}/obl because {U}/nsubj/slept slept=sleep/V/advcl in [the park/N/obl/slept] .
"""

_PLACES = "P:town Q:feature T:day"
TOPICS: Mapping[str, Topic] = {
    "conflict": Topic(
        "A:force12,force12,force12,people1,joint13 B:force21 C:country1 D:country2 E:people1 G:official1 H:official2 "
        f"R:rebels V:civilians {_PLACES}",
        _CONFLICT,
    ),
    "markets": Topic(
        f"C:country1 D:country2 K:expert1 M:company1 N:traders O:body1 W:crowd X:measure1 {_PLACES}", _MARKETS
    ),
    "politics": Topic(
        f"C:country1 D:country2 G:official1 H:official2 K:expert L:party O:body1 U:crowd X:measure {_PLACES}", _POLITICS
    ),
    "weather": Topic(f"C:country1 D:country2 F:helpers O:body1 S:storm V:civilians {_PLACES}", _WEATHER),
    "sport": Topic(f"C:country1 D:country2 M:team1 N:team2 U:crowd Y:player Z:player {_PLACES}", _SPORT),
    "science": Topic(f"C:country1 F:science2 K:expert O:body1 V:patients Z:drug {_PLACES}", _SCIENCE),
    "local": Topic(f"J:jurist L:party U:critics V:civilians Y:accused Z:animal {_PLACES}", _LOCAL),
}
