from articles.management.exporting import ExportCommand
from articles.services.exports import export_links


class Command(ExportCommand):
    help = (
        "Write every link between two articles to a CSV file (UTF-8, raw values). "
        "The file appears whole or not at all."
    )
    example = "--output links.csv"
    export = staticmethod(export_links)
