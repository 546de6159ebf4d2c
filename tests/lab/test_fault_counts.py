"""The counts of the fault tests that the scorecard shows."""

from pathlib import Path

from lab.evals.faults import read_counts

REPORT = """<testsuites><testsuite><properties>
<property name="kills" value="3/3"/><property name="kills" value="4/5"/><property name="flips" value="2/2"/>
</properties></testsuite></testsuites>"""


def test_counts_of_the_same_name_are_added(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)

    assert read_counts(report) == {"kills": {"tried": 8, "survived": 7}, "flips": {"tried": 2, "survived": 2}}
