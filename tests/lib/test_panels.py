"""Tags of the lab's pages: text is escaped, and headings name what they head."""

from django.template import Context, Template


def render(source: str, **context: object) -> str:
    return Template(source).render(Context(context))


def test_a_panel_is_a_region_named_by_its_heading() -> None:
    shown = render('{% panel "who" name 2 %}<p>x</p>{% endpanel %}', name="<People>")
    assert shown == (
        '<section class="panel" aria-labelledby="who-heading"><h2 id="who-heading">&lt;People&gt; '
        '<span class="count">2</span></h2><p>x</p></section>'
    )
    plain = render('{% panel "who" "People" css="wide" is_region=False %}{% endpanel %}')
    assert plain == '<section class="panel wide"><h2 id="who-heading">People</h2></section>'


def test_a_table_takes_its_columns_one_by_one_or_as_a_list() -> None:
    rows = "<tr><td>a</td><td>1</td></tr>"
    one_by_one = render('{% table "who" "Name" "#Trials" %}' + rows + "{% endtable %}")
    as_list = render(
        '{% table "who" columns %}' + rows + "{% endtable %}", columns=["Name", "#Trials"]
    )
    assert one_by_one == as_list
    assert 'aria-labelledby="who-heading"' in as_list
    assert '<th scope="col" class="number">Trials</th>' in as_list


def test_a_button_has_the_attributes_that_it_is_given() -> None:
    source = '{% submit label "small" of=whose name="act" value=act %}'
    assert render(source, label="Go & <stop>", whose="<Ada>", act='"') == (
        '<button class="button button-small" type="submit" name="act" value="&quot;">Go &amp; &lt;stop&gt;'
        '<span class="visually-hidden"> &lt;Ada&gt;</span></button>'
    )


def test_a_link_leads_to_a_page_by_its_name_or_its_address() -> None:
    shown = '<a class="button button-secondary button-small" href="/lab/help/">Help</a>'
    assert render('{% button_to "Help" "lab:help" %}') == shown
    assert render('{% button_to "Help" address %}', address="/lab/help/") == shown
