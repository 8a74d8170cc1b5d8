"""Words of referrals on common topics are read as the concepts they mean."""

import pytest

from gateway.consult.scenario import read_scenario
from gateway.consult.scope import Polarity
from gateway.consult.terminology.load import load_terminology

_TERMINOLOGY = load_terminology()


@pytest.mark.parametrize(
    ("text", "concepts"),
    [
        (
            "45M fell off ladder onto outstretched hand, painful swollen R wrist, snuffbox tender",
            "wrist-injury scaphoid-fracture fall-from-height",
        ),
        (
            "82F tripped over rug, unable to weight bear, L leg shortened and externally rotated ?NOF",
            "hip-fracture unable-to-walk trauma",
        ),
        ("Chronic shoulder pain 6 months, painful arc ?rotator cuff tear", "shoulder-pain rotator-cuff-tear"),
        (
            "rolled her ankle playing netball, tender over the lateral malleolus, can't walk",
            "ankle-injury ankle-malleolar-tenderness unable-to-walk",
        ),
        ("68M diabetic with heel ulcer, probe to bone positive ?osteomyelitis", "osteomyelitis diabetes"),
        ("hot swollen knee with fever ?septic arthritis", "septic-arthritis fever knee-complaint"),
        (
            "known rheumatoid arthritis, neck pain, new hand clumsiness, ?cervical myelopathy",
            "inflammatory-arthritis neck-pain myelopathy",
        ),
        ("55F bloody nipple discharge left breast", "nipple-discharge"),
        ("19M sudden onset left testicular pain 3h ?torsion", "scrotal-pain"),
        ("34F pelvic pain, positive bhcg, ?ectopic pregnancy", "pelvic-pain ectopic-pregnancy pregnancy"),
        ("62F postmenopausal bleeding", "vaginal-bleeding"),
        ("raised PSA 12, hard prostate", "prostate-complaint"),
        ("incidental renal mass on US", "renal-mass"),
        (
            "70M smoker, haemoptysis, mass on CXR ?lung cancer",
            "lung-cancer pulmonary-nodule haemoptysis smoker",
        ),
        ("productive cough, crackles right base, fever ?pneumonia", "community-pneumonia cough"),
        ("tearing chest pain radiating to back, BP differs, ?aortic dissection", "aortic-dissection"),
        ("40F RUQ pain, Murphy's positive, ?cholecystitis", "right-upper-quadrant-pain cholecystitis"),
        ("painless jaundice and weight loss in 72M ?pancreatic cancer", "jaundice pancreatic-cancer"),
        ("epigastric pain radiating to back, lipase 1200 raised", "epigastric-pain"),
        ("vomiting, distended abdomen, not passing flatus, ?SBO", "bowel-obstruction bloating"),
        ("LIF pain and fever ?diverticulitis", "left-lower-quadrant-pain diverticulitis"),
        ("melaena and haematemesis", "gastrointestinal-bleeding"),
        ("liver lesion seen on ultrasound, hepatitis B", "liver-lesion chronic-liver-disease"),
        ("AF, pain out of proportion ?mesenteric ischaemia", "mesenteric-ischaemia"),
        ("goitre with compressive symptoms", "thyroid-nodule"),
        ("lump in the left side of neck for 4 weeks", "neck-lump"),
        ("facial pressure, purulent nasal discharge, ?sinusitis", "paranasal-sinusitis"),
        ("vertigo with nystagmus", "dizziness"),
        ("sudden right arm weakness and aphasia, NIHSS 12 ?stroke", "acute-stroke focal-deficit"),
        ("TIA yesterday", "transient-ischaemic-attack"),
        ("memory decline over 2 years ?dementia", "dementia"),
        ("sudden loss of vision in the right eye", "vision-loss"),
        ("asymmetric sensorineural hearing loss and tinnitus", "hearing-loss tinnitus"),
        ("3-year-old refusing to walk, limping toddler, no trauma", "refuses-to-walk"),
        ("5-week-old boy with projectile vomiting ?pyloric stenosis", "projectile-vomiting infant"),
        ("neonate with bilious vomiting ?malrotation", "bilious-vomiting"),
        ("9-month-old, drawing up legs, red currant jelly stool ?intussusception", "intussusception"),
        ("2yo recurrent UTI, ?VUR", "child-urinary-infection"),
        ("13-year-old obese boy with hip pain and limp ?SUFE", "child-hip-disease hip-pain limp"),
        ("bruising and fracture in 4-month-old ?NAI, safeguarding concerns", "suspected-abuse"),
        ("swallowed a button battery", "inhaled-foreign-body"),
        ("punched in the face, ?broken nose", "facial-injury"),
        ("fall from horse, midline neck tenderness", "neck-pain animal-accident"),
        ("известный цирроз, очаг в печени", "liver-lesion chronic-liver-disease"),
        ("боль в правом подреберье, желтуха", "right-upper-quadrant-pain jaundice"),
        ("боль в левом плече после падения", "shoulder-pain"),
        ("кашель и лихорадка, подозрение на пневмонию", "cough community-pneumonia"),
        ("образование в левой молочной железе", "breast-lump"),
        ("травма коленного сустава 2 дня назад, не может наступить на ногу", "knee-injury unable-to-walk"),
        ("пилоростеноз, рвота фонтаном у ребенка", "projectile-vomiting"),
        ("головокружение и шаткость походки", "dizziness gait-disturbance"),
    ],
)
def test_concepts_of_a_referral(text: str, concepts: str) -> None:
    scenario = read_scenario(text, _TERMINOLOGY)
    said = {
        concept
        for concept in concepts.split()
        if scenario.polarities(concept) & {Polarity.PRESENT, Polarity.SUSPECTED}
    }
    assert said == set(concepts.split())


@pytest.mark.parametrize(
    ("text", "concept", "polarity"),
    [
        ("walks without difficulty", "unable-to-walk", Polarity.ABSENT),
        ("weight bearing with a slight limp", "unable-to-walk", Polarity.ABSENT),
        ("not weight bearing since", "unable-to-walk", Polarity.PRESENT),
        ("flexion limited to 70 degrees", "limited-flexion", Polarity.PRESENT),
        ("flexion to 110", "limited-flexion", Polarity.ABSENT),
        ("no patellar or fibular head tenderness", "patellar-tenderness", Polarity.ABSENT),
        ("no patellar or fibular head tenderness", "fibular-head-tenderness", Polarity.ABSENT),
        ("no bony tenderness", "patellar-tenderness", Polarity.ABSENT),
        ("XR knee NAD", "normal-radiograph", Polarity.PRESENT),
        ("x-ray showed no fracture", "normal-radiograph", Polarity.PRESENT),
        ("no x-ray yet", "radiograph-done", Polarity.ABSENT),
        ("TKR on the left", "knee-replacement", Polarity.PRESENT),
        ("NV intact", "absent-foot-pulse", Polarity.ABSENT),
        ("no palpable foot pulse", "absent-foot-pulse", Polarity.PRESENT),
        ("never breastfed", "breastfeeding", Polarity.ABSENT),
        ("painless visible haematuria", "urinary-tract-pain", Polarity.ABSENT),
        ("microscopic haematuria", "visible-haematuria", Polarity.ABSENT),
        ("MSU negative", "urinary-infection", Polarity.ABSENT),
        ("obs stable", "haemodynamic-instability", Polarity.ABSENT),
    ],
)
def test_polarity_of_a_finding(text: str, concept: str, polarity: Polarity) -> None:
    assert read_scenario(text, _TERMINOLOGY).polarities(concept) == {polarity}


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("Does she need an x-ray?", "radiograph-done"),
        ("known portal hypertension", "hypertension"),
        ("stopped breastfeeding a year ago", "breastfeeding"),
        ("last screening mammogram was normal", "breast-imaging-done"),
        ("injured while walking home", "unable-to-walk"),
        ("CVA tenderness", "acute-stroke"),
        ("TKR on the other side", "knee-replacement"),
    ],
)
def test_words_that_mean_something_else(text: str, concept: str) -> None:
    assert Polarity.PRESENT not in read_scenario(text, _TERMINOLOGY).polarities(concept)
