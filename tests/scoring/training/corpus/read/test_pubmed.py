"""PubMed's XML, in the shape that efetch answers; the articles are made up."""

import pytest

from scoring.training.corpus.document import Document
from scoring.training.corpus.read.xml import Records, parse, read_pubmed

HEAD = """<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN"
 "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">"""
ARTICLE = """<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{pmid}</PMID>
<Article PubModel="Print-Electronic"><Journal><ISSN IssnType="Electronic">1529-2401</ISSN>
<JournalIssue CitedMedium="Internet"><Volume>39</Volume><PubDate>{date}</PubDate></JournalIssue>
<Title>The Journal of sleep : official</Title><ISOAbbreviation>J Sleep</ISOAbbreviation></Journal>
<ArticleTitle>Sleep in <i>Mus musculus</i>.</ArticleTitle>
<ELocationID EIdType="pii" ValidYN="Y">S1</ELocationID><ELocationID EIdType="doi" ValidYN="Y">10.1000/ABC.1</ELocationID>
{abstract}{electronic}</Article></MedlineCitation>
<PubmedData><PublicationStatus>ppublish</PublicationStatus>
<ArticleIdList><ArticleId IdType="pubmed">{pmid}</ArticleId><ArticleId IdType="pmc">PMC77</ArticleId></ArticleIdList>
<ReferenceList><Reference><Citation>Another.</Citation><ArticleIdList><ArticleId IdType="doi">10.9/other</ArticleId>
<ArticleId IdType="pmc">PMC99</ArticleId></ArticleIdList></Reference></ReferenceList></PubmedData></PubmedArticle>"""
PLAIN = "<Abstract><AbstractText>Mice sleep.</AbstractText></Abstract>"


def article(abstract: str = PLAIN, date: str = "<Year>2019</Year>", electronic: str = "") -> str:
    return ARTICLE.format(pmid=31, abstract=abstract, date=date, electronic=electronic)


def read(*articles: str) -> Records:
    text = f"{HEAD}<PubmedArticleSet>{''.join(articles)}</PubmedArticleSet>"
    return read_pubmed(parse(text.encode()))


def only(*articles: str) -> Document:
    (document,) = read(*articles).documents
    return document


def test_an_article_is_a_document_with_all_that_is_known_of_it():
    licence = "<Abstract><AbstractText>Mice sleep.</AbstractText><CopyrightInformation>© 2019 the authors</CopyrightInformation></Abstract>"
    assert only(article(licence)) == Document(
        id="pmid:31",
        text="Mice sleep.",
        title="Sleep in Mus musculus.",
        doi="10.1000/abc.1",
        pmid="31",
        pmcid="PMC77",  # its own, not that of a reference
        journal="The Journal of sleep : official",
        published="2019",
        licence="© 2019 the authors",
        kind="abstract",
        source="pubmed",
    )


def test_a_structured_abstract_is_kept_whole_with_its_labels():
    parts = (
        '<AbstractText Label="BACKGROUND" NlmCategory="BACKGROUND">Mice <b>sleep</b>.</AbstractText>',
        '<AbstractText Label="UNLABELLED">Some more.</AbstractText>',
        '<AbstractText Label="RESULTS" NlmCategory="RESULTS">CO<sub>2</sub> rose (<i>p</i> &lt; .05).</AbstractText>',
        '<AbstractText Label="CONCLUSIONS"/>',
    )
    document = only(article(f"<Abstract>{''.join(parts)}</Abstract>"))
    assert document.text == "BACKGROUND: Mice sleep.\nSome more.\nRESULTS: CO2 rose (p < .05)."


def test_formulas_entities_and_line_breaks_become_text_of_one_line():
    math = (
        '<mml:math xmlns:mml="http://www.w3.org/1998/Math/MathML"><mml:semantics><mml:msup>\n <mml:mi>x</mml:mi>\n <mml:mn>2</mml:mn>'
        '</mml:msup><mml:annotation encoding="TeX">x^{2}</mml:annotation></mml:semantics></mml:math>'
    )
    text = f"With {math} and &#x3b2;,\n  &amp;gt; 5 &alpha; &undefined; R&amp;D."
    document = only(article(f"<Abstract><AbstractText>{text}</AbstractText></Abstract>"))
    assert document.text == "With x2 and β, > 5 \u03b1 &undefined; R&D."


@pytest.mark.parametrize(
    ("date", "electronic", "expected"),
    [
        ("<Year>2019</Year><Month>Aug</Month><Day>7</Day>", "", "2019-08-07"),
        ("<Year>2019</Year><Month>08</Month>", "", "2019-08"),
        ("<Year>2021</Year><Month>Feb</Month><Day>31</Day>", "", "2021-02"),
        ("<Year>2019</Year><Season>Winter</Season>", "", "2019"),
        ("<MedlineDate>1998 Dec-1999 Jan</MedlineDate>", "", "1998-12"),
        ("<MedlineDate>2000-2001</MedlineDate>", "", "2000"),
        ("<Year>2019</Year><Month>Feb</Month>", "<ArticleDate DateType='Electronic'><Year>2018</Year><Month>12</Month><Day>20</Day></ArticleDate>", "2018-12-20"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_a_date_is_read_as_far_as_it_is_known(date: str, electronic: str, expected: str):
    assert only(article(date=date, electronic=electronic)).published == expected


def test_what_has_no_abstract_is_counted_and_not_kept():
    book = "<PubmedBookArticle><BookDocument><PMID>8</PMID><Abstract><AbstractText>A book.</AbstractText></Abstract></BookDocument></PubmedBookArticle>"
    records = read(
        article(""), article("<Abstract><AbstractText> </AbstractText></Abstract>"), book
    )
    assert records == Records((), ("31", "31"), ("8",))


def test_entities_are_not_resolved_and_no_file_is_read(tmp_path):
    (tmp_path / "secret").write_text("a secret")
    text = f"""<!DOCTYPE PubmedArticleSet [<!ENTITY file SYSTEM "{tmp_path / "secret"}"><!ENTITY own "expanded">]>
    <PubmedArticleSet>{article("<Abstract><AbstractText>Read &file; &own;.</AbstractText></Abstract>")}</PubmedArticleSet>"""
    (document,) = read_pubmed(parse(text.encode())).documents
    assert document.text == "Read &file; &own;."


def test_an_answer_that_was_cut_off_is_no_xml():
    with pytest.raises(ValueError, match="no XML"):
        parse(f"<PubmedArticleSet>{article()}".encode())
