"""The running service sees what happens below its folders."""


def test_what_is_written_and_removed_is_followed(service):
    service.share.write("a.txt", "A note about the whimbrel.")
    service.start()
    service.until(lambda: service.states() == {"a.txt": "indexed"})
    (service.share.root / "b.txt").write_text("A note about the redshank.")
    service.until(lambda: service.states().get("b.txt") == "indexed")
    assert service.found("redshank") == {"b.txt"}
    (service.share.root / "a.txt").unlink()
    service.until(lambda: service.states() == {"b.txt": "indexed"})
    assert service.root()["watch"] == "events"
