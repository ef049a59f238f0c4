"""Reading PubMed's and PMC's XML."""

import pytest

from scoring.training.corpus.document import Document
from scoring.training.corpus.read.xml import Records, parse, read_jats, read_pubmed, text_of
from scoring.training.corpus.unwanted import why_unwanted

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
    assert document.text == "With x^2 and β, > 5 \u03b1 &undefined; R&D."


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


@pytest.mark.parametrize(
    ("stated", "listed", "expected"),
    [
        ((("N", "10.5/wrong"), ("Y", "10.5/right")), "10.5/right", "10.5/right"),
        ((("N", "10.5/wrong"),), "10.5/WRONG", ""),
        ((("N", "10.5/wrong"),), "10.5/right", "10.5/right"),
        ((), "10.5/right", "10.5/right"),
    ],
)
def test_a_doi_that_is_marked_as_wrong_is_never_taken(
    stated: tuple[tuple[str, str], ...], listed: str, expected: str
):
    places = (f'<ELocationID EIdType="doi" ValidYN="{v}">{doi}</ELocationID>' for v, doi in stated)
    known = '<ELocationID EIdType="doi" ValidYN="Y">10.1000/ABC.1</ELocationID>'
    text = article().replace(known, "".join(places))
    text = text.replace(
        "<ArticleIdList>", f'<ArticleIdList><ArticleId IdType="doi">{listed}</ArticleId>', 1
    )
    assert only(text).doi == expected


TYPES = "<PublicationTypeList><PublicationType UI=''>{}</PublicationType></PublicationTypeList>"
RETRACTED_IN = "<CommentsCorrectionsList><CommentsCorrections RefType='RetractionIn'/></CommentsCorrectionsList>"


@pytest.mark.parametrize(
    ("kind", "more", "expected"),
    [
        ("Journal Article", "", ""),
        ("Retracted Publication", "", "retracted"),
        ("Journal Article", RETRACTED_IN, "retracted"),
        ("Retraction of Publication", "", "notice"),
        ("Published Erratum", "", "notice"),
        ("Expression of Concern", "", "notice"),
        ("Corrected and Republished Article", "", ""),
    ],
)
def test_types_are_kept_and_say_what_no_corpus_takes(kind: str, more: str, expected: str):
    text = article(electronic=TYPES.format(kind))
    document = only(text.replace("</MedlineCitation>", f"{more}</MedlineCitation>"))
    assert document.publication_types.startswith(kind)
    assert why_unwanted(document) == expected


SPANISH = "<Abstract><AbstractText>Se midió el sueño en cuarenta ratas y no se encontró nada.</AbstractText></Abstract>"
OTHER = "<OtherAbstract Type='Publisher' Language='{}'><AbstractText>Sleep was measured and nothing found.</AbstractText></OtherAbstract>"


@pytest.mark.parametrize(
    ("languages", "abstract", "other", "expected"),
    [
        ("eng", PLAIN, "", ("eng", "Mice sleep.")),
        ("spa", SPANISH, OTHER.format("eng"), ("eng", "Sleep was measured and nothing found.")),
        ("spa", SPANISH, OTHER.format("por"), ("spa", "Se midió el sueño en cuarenta ratas y no se encontró nada.")),
        ("fre", "<Abstract><AbstractText>The mice and the rats slept.</AbstractText></Abstract>", "", ("eng", "The mice and the rats slept.")),
        ("", PLAIN, "", ("", "Mice sleep.")),
    ],
)  # fmt: skip
def test_the_language_is_that_of_the_text(
    languages: str, abstract: str, other: str, expected: tuple[str, str]
):
    named = f"<Language>{languages}</Language>" if languages else ""
    text = article(abstract, electronic=named)
    document = only(text.replace("</MedlineCitation>", f"{other}</MedlineCitation>"))
    assert (document.language, document.text) == expected


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("10<sup>6</sup> cells", "10^6 cells"),
        ("10<sup>-5</sup> to 10<sup>\u22125.5</sup>", "10^-5 to 10^\u22125.5"),
        ("2<sup>n</sup>, (a + b)<sup>2</sup>, m<sup>2</sup>", "2^n, (a + b)^2, m^2"),
        ("Ca<sup>2+</sup>, CD4<sup>+</sup>, 5<sup>th</sup>, <sup>14</sup>C", "Ca2+, CD4+, 5th, 14C"),
        ("CO<sub>2</sub>, log<sub>10</sub>, 7<sub>2</sub>", "CO2, log10, 7_2"),
        ("10<sup>2<sub>i</sub></sup>, <i>10<sup>3</sup></i>", "10^2i, 10^3"),
        ("<math><msup><mn>10</mn><mn>6</mn></msup><msub><mi>x</mi><mn>1</mn></msub></math>", "10^6x1"),
    ],
)  # fmt: skip
def test_exponents_stay_apart_from_their_base(markup: str, text: str):
    assert text_of(parse(f"<p>{markup}</p>".encode())) == text


def test_a_record_without_an_abstract_is_counted_and_not_kept():
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


FRONT = """<front><journal-meta><journal-id journal-id-type="nlm-ta">J Sleep</journal-id>
<journal-title-group><journal-title>Journal of Sleep</journal-title></journal-title-group></journal-meta>
<article-meta>{ids}<article-id pub-id-type="pmid">31</article-id>
<article-id pub-id-type="doi">10.1000/ABC</article-id>
<title-group><article-title>Sleep of <italic>mice</italic><xref ref-type="fn" rid="f1"><sup>*</sup></xref></article-title></title-group>
<pub-date pub-type="collection"><year>2019</year></pub-date>
<pub-date pub-type="epub"><day>3</day><month>2</month><year>2019</year></pub-date>
<permissions>{licence}</permissions>
<abstract><sec><title>Background</title><p>Mice sleep.</p></sec><sec><title>Results</title><p>Much.</p></sec></abstract>
<abstract abstract-type="graphical"><p>A picture.</p></abstract></article-meta></front>"""
BODY = """<body><sec id="s1"><label>1.</label><title>Introduction</title>
<p>Mice sleep <xref ref-type="bibr" rid="b1">[1]</xref>, as <xref ref-type="bibr" rid="b2">Roe et al., 2001</xref> say
[<xref ref-type="bibr" rid="b1">1</xref>, <xref ref-type="bibr" rid="b2">2</xref>].<sup><xref ref-type="bibr" rid="b3">3</xref>,</sup>
See <xref ref-type="fig" rid="f1">Figure 1</xref> and CO<sub>2</sub>.
<fig id="f1"><label>Figure 1</label><caption><p>A mouse.</p></caption><graphic xlink:href="x.jpg"/></fig> After it.</p>
<sec><title>Details</title><p>With <inline-formula><alternatives><tex-math>\\alpha = 1</tex-math>
<mml:math><mml:mi>a</mml:mi><mml:mo>=</mml:mo><mml:mn>1</mml:mn></mml:math></alternatives></inline-formula>:
<list><list-item><p>one</p></list-item><list-item><p>two</p></list-item></list></p>
<disp-formula><mml:math><mml:mi>b</mml:mi></mml:math></disp-formula>
<table-wrap><caption><p>A table.</p></caption><table><tr><td>5</td></tr></table></table-wrap></sec></sec>
<sec sec-type="supplementary-material"><title>More</title><supplementary-material><p>File.</p></supplementary-material></sec></body>
<back><ref-list><ref><mixed-citation>Roe</mixed-citation></ref></ref-list></back>"""
CC = '<license license-type="open-access" xlink:href="https://creativecommons.org/licenses/by/4.0/"><license-p>Open.</license-p></license>'


def read_pmc(body: str = BODY, licence: str = CC, ids: str = '<article-id pub-id-type="pmcid">PMC77</article-id>') -> Records:  # fmt: skip
    article = f'<article article-type="research-article" xml:lang="en">{FRONT.format(ids=ids, licence=licence)}{body}</article>'
    spaces = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML" xmlns:ali="http://www.niso.org/schemas/ali/1.0/"'
    return read_jats(parse(f"<pmc-articleset {spaces}>{article}</pmc-articleset>".encode()))


def test_a_full_text_is_abstract_and_body_without_figures_tables_formulas_and_references():
    (document,) = read_pmc().documents
    assert document == Document(
        id="pmcid:PMC77",
        text="Background\nMice sleep.\nResults\nMuch.\n"
        "Introduction\nMice sleep, as Roe et al., 2001 say. See Figure 1 and CO2. After it.\n"
        "Details\nWith a=1:\none\ntwo\nMore",
        title="Sleep of mice",
        doi="10.1000/abc",
        pmid="31",
        pmcid="PMC77",
        journal="Journal of Sleep",
        published="2019-02-03",
        licence="https://creativecommons.org/licenses/by/4.0/",
        kind="fulltext",
        source="pmc",
        publication_types="research-article",
        language="eng",
    )
