"""Words that say nothing about a question's subject. Question words are among them: `asked` reads those."""

from __future__ import annotations

from typing import Final

_ENGLISH: Final = """
a about above after again all also am an and any are as at be because been before being below between both
but by can cannot could did do does doing don down during each etc few for from further get go got had has
have having he her here hers him his how i if in into is isn it its just kind let like ll may me might mine
more most much must my need no nor not now of off on once one only or other our ours out over own per please
re s same shall she should so some sort such t than that the their them then there these they this those
though through to too under until up upon us use used using ve very via want was way we were what when where
whether which while who whom whose why will with within without would you your tell say says give given
gives explain describe mean means term call called anything something thing things actually simply usually
typical typically
"""
_RUSSIAN: Final = """
а без более бы был была были было быть в вам вас ваш весь во вот все всего всех вы где да для до его ее если
есть еще же за здесь и из или им их к как какая какие какими каким каких какого какое какой какую какова
каков ко когда кого кому которая которые который которых которое кто куда ли либо между меня мне много может
можно мой моя мы на над надо наш не него нее ней нельзя нет ни нибудь никто ним них но ну нужно о об обо
один он она они оно от откуда очень перед по под после потом потому почему при про раз с сам себе себя
сейчас со сколько так также такие такого такое такой там те тем то тогда того тоже той только том тот ту ты
у уж уже хотя чего чей чем через что чтобы эта эти этим этих это этого этой этом этот эту я является
являются согласно пожалуйста скажите подскажите объясните расскажите нам мой моего моей моему свои свой свою
хочу
"""

STOPWORDS: Final = frozenset(_ENGLISH.split()) | frozenset(_RUSSIAN.split())
