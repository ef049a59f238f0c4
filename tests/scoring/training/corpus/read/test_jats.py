"""Full texts in the shape in which PMC answers efetch; the articles are made up."""

from scoring.training.corpus.document import Document
from scoring.training.corpus.read.xml import Records, parse, read_jats

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


def read(body: str = BODY, licence: str = CC, ids: str = '<article-id pub-id-type="pmcid">PMC77</article-id>') -> Records:  # fmt: skip
    article = f'<article article-type="research-article">{FRONT.format(ids=ids, licence=licence)}{body}</article>'
    spaces = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML" xmlns:ali="http://www.niso.org/schemas/ali/1.0/"'
    return read_jats(parse(f"<pmc-articleset {spaces}>{article}</pmc-articleset>".encode()))


def test_a_full_text_is_abstract_and_body_without_figures_tables_formulas_and_references():
    (document,) = read().documents
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
    )


def test_an_article_whose_body_is_not_given_is_counted_and_not_kept():
    assert read("", ids='<article-id pub-id-type="pmc">77</article-id>') == Records((), ("77",))


def test_the_licence_is_an_address_where_there_is_one():
    link = '<license><license-p>Under <ext-link xlink:href="http://creativecommons.org/licenses/by-nc/4.0/">CC</ext-link>.</license-p></license>'
    ref = "<license><ali:license_ref>https://example.org/terms</ali:license_ref><license-p>Terms.</license-p></license>"
    words = "<license><license-p>All may <bold>read</bold>.</license-p></license>"
    licences = [read(licence=licence).documents[0].licence for licence in (link, ref, words, "")]
    assert licences == ["http://creativecommons.org/licenses/by-nc/4.0/", "https://example.org/terms", "All may read.", ""]  # fmt: skip


def test_an_article_without_what_is_about_it_does_not_stop_the_others():
    damaged = "<article><front/><body><p>Text.</p></body></article>"
    whole = f"<article>{FRONT.format(ids='', licence='')}<body><p>Text.</p></body></article>"
    found = read_jats(parse(f"<pmc-articleset>{damaged}{whole}{damaged}</pmc-articleset>".encode()))
    assert [document.pmid for document in found.documents] == ["31"]
    assert found.without_text == ()
