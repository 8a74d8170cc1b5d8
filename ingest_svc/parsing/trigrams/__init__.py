"""Letter trigrams that stand in words of a language, one file per language; read by `orthography`.

Each line is two characters, a colon, and all the third characters that follow them; "^" and "$" are the
begin and end of a word. Made by benchmarks/orthography_model.py from the word lists of pyspellchecker 0.9.1
(MIT; en, de, fr, es, it, ru) and, for Russian, the word forms of pymorphy3-dicts-ru 2.4 (OpenCorpora). Only
which trigrams are common is kept, no word.
"""
