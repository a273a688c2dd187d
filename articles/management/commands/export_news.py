from articles.management.exporting import ExportCommand
from articles.services.exports import export_news


class Command(ExportCommand):
    help = (
        "Write every article with its cluster to a CSV file (UTF-8, raw values). "
        "The file appears whole or not at all."
    )
    example = "--output news.csv"
    export = staticmethod(export_news)
