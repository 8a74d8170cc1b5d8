"""What a referrer's words say of a concept: present, absent, suspected, earlier, or said of somebody else."""

import pytest

from gateway.consult.scenario import read_scenario
from gateway.consult.scope import Polarity
from gateway.consult.terminology.load import load_terminology

P, A, S, H = Polarity.PRESENT, Polarity.ABSENT, Polarity.SUSPECTED, Polarity.HISTORICAL

CASES = [
    # Denials over a list.
    (
        "Denies fever, weight loss or bladder symptoms.",
        {"fever": A, "unexplained-weight-loss": A, "bladder-or-bowel-dysfunction": A},
    ),
    (
        "No fever, weight loss, IV drug use.",
        {"fever": A, "unexplained-weight-loss": A, "intravenous-drug-use": A},
    ),
    ("No fever, back pain for 3 weeks.", {"fever": A, "back-pain": P}),
    ("No fever but back pain.", {"fever": A, "back-pain": P}),
    (
        "Not pregnant, right lower quadrant pain since yesterday.",
        {"pregnancy": A, "right-lower-quadrant-pain": P},
    ),
    ("No neck stiffness. Headache today.", {"neck-stiffness": A, "headache": P}),
    ("Nil fever, nil trauma.", {"fever": A, "trauma": A}),
    ("Neither fever nor weight loss.", {"unexplained-weight-loss": A}),
    ("Without fever or chills, has loin pain.", {"fever": A, "flank-pain": P}),
    ("Negative for fever, weight loss and night sweats.", {"fever": A, "unexplained-weight-loss": A}),
    (
        "Afebrile, continent, normal perianal sensation.",
        {"fever": A, "urinary-incontinence": A, "saddle-anaesthesia": A},
    ),
    ("No weakness, continent, normal anal tone.", {"urinary-incontinence": A, "loss-of-anal-tone": A}),
    ("No red flags (fever, weight loss, cancer).", {"fever": A, "cancer": A}),
    ("Denies: fever, weight loss.", {"fever": A, "unexplained-weight-loss": A}),
    ("There is no evidence of papilloedema.", {"papilloedema": A}),
    ("Fever and weight loss are denied.", {"fever": A, "unexplained-weight-loss": A}),
    ("PE was ruled out.", {"pulmonary-embolism": A}),
    ("PE unlikely.", {"pulmonary-embolism": S, "low-pretest-probability": P}),
    ("Cauda equina has been excluded.", {"cauda-equina-syndrome": A}),
    ("She doesn't have a fever.", {"fever": A}),
    ("The patient has not lost weight.", {"unexplained-weight-loss": A}),
    ("Never had kidney stones.", {"earlier-urinary-stone": A}),
    ("Haemoptysis: none.", {"haemoptysis": A}),
    ("D-dimer negative.", {"negative-d-dimer": P}),
    ("D-dimer -ve, Wells 2.", {"negative-d-dimer": P, "low-pretest-probability": P}),
    ("Low suspicion for PE.", {"pulmonary-embolism": A}),
    # No denials.
    ("No improvement of her back pain.", {"back-pain": P}),
    ("Never had a headache like this before.", {"headache": P}),
    ("No relief of the headache with paracetamol.", {"headache": P}),
    ("Not only fever but also weight loss.", {"fever": P, "unexplained-weight-loss": P}),
    ("No doubt this is renal colic.", {"renal-colic": P}),
    ("Cannot pass urine.", {"urinary-retention": P}),
    ("Not afebrile.", {"fever": P}),
    # Suspicions.
    ("?PE", {"pulmonary-embolism": S}),
    ("PE?", {"pulmonary-embolism": S}),
    ("r/o appendicitis", {"appendicitis": S}),
    ("Query cauda equina.", {"cauda-equina-syndrome": S}),
    ("Concern for PE, tachycardic.", {"pulmonary-embolism": S, "tachycardia": P}),
    ("Appendicitis is suspected.", {"appendicitis": S}),
    ("PE cannot be excluded.", {"pulmonary-embolism": S}),
    ("We want to exclude PE.", {"pulmonary-embolism": S}),
    ("Could be a kidney stone.", {"urinary-stone": S}),
    ("No fever, ?appendicitis.", {"fever": A, "appendicitis": S}),
    # What was so earlier.
    ("History of breast cancer.", {"cancer": H}),
    ("Denies a history of cancer.", {"cancer": A}),
    ("No h/o cancer.", {"cancer": A}),
    ("PMH: osteoporosis, migraine.", {"osteoporosis": H, "migraine": H}),
    ("3-week history of back pain.", {"back-pain": P}),
    (
        "Previous appendicectomy, now right iliac fossa pain.",
        {"appendicectomy": H, "right-lower-quadrant-pain": P},
    ),
    ("Head injury in 2015.", {"head-injury": H}),
    ("Fell off a ladder 5 years ago.", {"trauma": H}),
    ("No fever, history of cancer.", {"fever": A, "cancer": H}),
    # Somebody else.
    ("Mother had breast cancer.", {"cancer": None}),
    ("Family history of aneurysm and cancer.", {"cancer": None}),
    ("Her father has prostate cancer and she has back pain.", {"cancer": None, "back-pain": P}),
    ("His wife is pregnant.", {"pregnancy": None}),
    ("Mother of two with back pain.", {"back-pain": P}),
    ("Her husband says she has a fever.", {"fever": P}),
]


@pytest.mark.parametrize(
    ("text", "expected"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_polarity(text: str, expected: dict[str, Polarity | None]) -> None:
    scenario = read_scenario(text, load_terminology())
    found = {concept: scenario.polarities(concept) for concept in expected}
    assert found == {
        concept: frozenset() if polarity is None else frozenset({polarity})
        for concept, polarity in expected.items()
    }
