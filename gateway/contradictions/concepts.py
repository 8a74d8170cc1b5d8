"""What words stand for, English and Russian: facets that tell one quantity from another, and plain synonyms.

A facet splits quantities: 20 mSv for workers and 1 mSv for the public contradict nothing. A synonym only joins two
ways to say the same ("kept", "stored", "хранят"). Words that stand in no line of the table are themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from py_rust_stemmers import SnowballStemmer

from gateway.validation.measures import unit_of

_TABLE: Final = """
population worker: worker workers staff occupational occupationally personnel employee employees персонал работник работники сотрудник сотрудники
population public: public visitor visitors население посетитель посетители
population apprentice: apprentice apprentices student students trainee trainees minor minors учащийся учащиеся студент студенты практикант стажер ученик
population pregnant: pregnant pregnancy fetus foetus embryo unborn беременная беременные беременность плод
population child: child children paediatric pediatric infant infants newborn neonate дети детей детям ребенок ребенка детский новорожденный
population adult: adult adults взрослый взрослые
population carer: carer carers comforter comforters caregiver сопровождающий
population woman: woman women female females женщина женщины
population man: man men male males мужчина мужчины
population elderly: elderly пожилой пожилые
organ lens: lens eye eyes хрусталик глаз глаза
organ skin: skin кожа кожи коже кожный
organ hand: hand hands forearm forearms foot feet ankle ankles extremity extremities кисть кисти кистях стопа стопы стопах конечность конечности
organ body: effective whole-body эффективная эффективный
organ thyroid: thyroid щитовидная щитовидный
organ gonads: gonad gonads гонады
organ abdomen: abdomen abdominal живот брюшной брюшная
organ chest: chest thorax thoracic lung lungs грудь грудной грудная легкие легкое
organ head: head skull brain cranial голова головы череп мозг
organ spine: spine spinal lumbar поясничный позвоночник
organ neck: neck cervical шея шейный
organ pelvis: pelvis pelvic таз тазовый
organ knee: knee knees колено коленный
organ hip: hip hips тазобедренный
organ shoulder: shoulder shoulders плечо плечевой
organ wrist: wrist запястье
organ breast: breast breasts mammogram mammograms glandular молочная молочный
organ liver: liver hepatic печень печени
organ spleen: spleen splenic селезенка селезенки
organ kidney: kidney kidneys renal почка почки почечный
organ aorta: aorta aortic аорта аорты
organ pancreas: pancreas pancreatic поджелудочная
organ gallbladder: gallbladder желчный
organ heart: heart cardiac coronary сердце сердечный
organ bladder: bladder мочевой пузырь
organ prostate: prostate prostatic простата предстательная
organ uterus: uterus uterine endometrium endometrial матка
organ ovary: ovary ovaries ovarian яичник яичники
modality ct: ct кт
modality mr: mr mri мрт мр
modality us: ultrasound sonography sonographic узи ультразвук ультразвуковой
modality xray: radiograph radiographs radiography x-ray xray рентгенограмма рентгенограммы рентгенография
modality fluoroscopy: fluoroscopy fluoroscopic рентгеноскопия
modality mammography: mammography маммография маммограф
modality pet: pet пэт
modality nuclear: scintigraphy scintigraphic сцинтиграфия
modality angiography: angiography angiographic ангиография
modality dental: dental дентальный стоматологический
substance iodine: iodine iodinated iodide йод йодсодержащий йодированный
substance gadolinium: gadolinium гадолиний гадолиниевый
substance barium: barium барий бариевый
substance technetium: technetium технеций
period year: year years annual annually yearly год года годовой ежегодный ежегодно лет
period quarter: quarter quarterly trimester квартал квартальный
period month: month months monthly месяц месяца ежемесячно месячный
period week: week weeks weekly неделя недели еженедельно
period day: day days daily день дня сутки ежедневно
period hour: hour hours hourly час часа часов
period many: consecutive подряд последовательных lifetime
period shift: shift смена смену
statistic upper: limit limits maximum maximal max exceed exceeds exceeding upper предел пределы максимальный максимум превышать превышает превышала верхний верхняя
statistic lower: minimum minimal lower минимальный минимум нижний нижняя
statistic average: average mean median typical usual usually средний средняя обычно обычный типичный
statistic reference: reference drl референтный референсный
statistic investigation: investigation action alert alarm trigger контрольный вмешательство вмешательства
statistic interval: every interval intervals frequency periodicity каждый каждые период периодичность раз реже
side left: left левый левая
side right: right правый правая
side front: front anterior передний передняя
side back: back posterior rear задний задняя
side ascending: ascending восходящий восходящая
side descending: descending нисходящий нисходящая
side first: first initial первый первая initially
side second: second второй вторая repeat
side last: last final последний окончательный
side inner: inner internal внутренний
side outer: outer external наружный внешний
side before: before prior перед
side after: after following после
side without: without unenhanced без
side with: enhanced
side low: low low-dose низкодозный
side high: high
side outpatient: outpatient outpatients амбулаторный
side emergency: emergency emergencies экстренный неотложный
= keep: kept keep keeps retain retained retains retention store stored stores storage archive archived preserve preserved хранить хранят хранится хранятся хранение хранению архив архиве
= check: check checked checks inspect inspected inspection inspections test tested tests verify verified проверять проверяют проверка проверки испытание осмотр осматривают
= observe: observe observed observation watch watched watches monitor monitored наблюдать наблюдают наблюдение
= stop: stop stopped stops withheld withhold discontinued paused suspended прекращать прекращают отменяют отмена
= fast: fast fasts fasting fasted голодать голодает голодание голодают натощак
= inject: inject injected injection administer administered administration given give gives receive receives infusion вводить вводят введение введения
= contrast: contrast контраст контрастный контрастное
= dose: dose doses доза дозы дозе
= rate: rate rates скорость скоростью
= power: мощность
= report: report reported reports notify notified notification сообщать сообщают уведомлять уведомляют извещать
= lead: lead свинец свинца свинцовый
= line: line lined lines lining
= door: door doors дверь двери
= room: room rooms кабинет помещение процедурная
= workplace: workplace место месте
= close: close closed closes закрывать закрывают закрывается закрыта
= last: takes take lasts duration длится продолжительность длительность
= length: length длина длиной
= width: width wide ширина
= thickness: thickness thick толщина
= diameter: diameter диаметр
= size: size размер
= record: record records log logs journal register журнал журналы запись записи
= image: image images film films picture pictures снимок снимки изображение
= dosimeter: dosimeter dosimeters badge badges dosimetry дозиметр дозиметры дозиметрия дозиметрии
= spill: spill spills разлив разлива
= speed: speed
= wait: wait waits waiting ждать ждет ожидание
= apron: apron aprons фартук фартуки
"""

# Words that tell nothing of what a number is of.
_GENERIC: Final = frozenset(
    "a an the of in on at to by for from with and or as is are was were be been being it its this that these those "
    "such any all each may shall must will should can could would has have had do does not no nor if than then "
    "which who there their his her he she they them one more less least most up over under above below about "
    "approximately around within between per only also other same so when while during into out off through "
    "apply applies applied allowed permitted recommended required requirement requirements set sets rule according "
    "calendar single value values level levels amount number total least equivalent patient patients person "
    "persons people agent agents procedure preparation following normal new site unit units member members "
    "what how long many much often need needs get gets our we you your сколько какой какая какое какие каков какова через почему "
    "until upon once however where section general summary overview rules limitation "
    "и в во на с со к о об от до по за из для не ни но а или что как это этот эта эти тот та те его ее их при же "
    "ли бы быть является которые который более менее свыше выше ниже около примерно должен должна должно должны "
    "может могут следует подлежит подлежат течение составляет составляют установлен установлены устанавливать "
    "следующие значение уровень величина количество пациент пациенты больной препарат средство срок сроки "
    "календарный только также если граница эквивалентная эквивалентный раздел общие".split()
)
_ENGLISH: Final = SnowballStemmer("english")
_RUSSIAN: Final = SnowballStemmer("russian")
_CYRILLIC: Final = re.compile(r"[а-я]")


@dataclass(frozen=True, slots=True)
class Concept:
    """What a word stands for.

    Attributes:
        facet: name of the facet it belongs to; "=" for a known synonym, "" for any other word.
        name: value of the facet, name of the synonym, or the word's stem.
    """

    facet: str
    name: str


def _stem(word: str) -> str:
    stemmer = _RUSSIAN if _CYRILLIC.search(word) else _ENGLISH
    return stemmer.stem_word(word)


def _read_table() -> dict[str, Concept]:
    found: dict[str, Concept] = {}
    for line in _TABLE.strip().splitlines():
        head, words = line.split(":", 1)
        concept = Concept(*head.split())
        for word in words.split():
            found[word] = concept
            found.setdefault(_stem(word), concept)
    return found


_KNOWN: Final = _read_table()
_GENERIC_STEMS: Final = _GENERIC | frozenset(_stem(word) for word in _GENERIC if len(word) > 3)


@lru_cache(maxsize=16384)
def concept_of(word: str) -> Concept | None:
    """The concept of a word in lower case with е for ё; None for one that tells nothing."""
    if known := _KNOWN.get(word):
        return known
    if word in _GENERIC or len(word) < 3:
        return None
    stem = _stem(word)
    if stem in _GENERIC_STEMS:
        return None
    if known := _KNOWN.get(stem):
        return known
    # A unit that stands apart ("in mSv", "(cm)") is no subject.
    if unit_of(word) is not None:
        return None
    return Concept("", stem)
