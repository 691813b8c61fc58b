import CacheCore
import HTTPModel
import HoldfastService

/// A request target, and the same text as a reference in an answer: none leads away from the origin.
func judgeTargets(_ bytes: [UInt8]) {
    let text = String(fieldBytes: bytes)
    let base = "http://origin.test/api"
    for raw in [text, "/resources" + text] {
        let parsed = try? ParsedTarget.parse(
            rawTarget: raw, method: .get, fields: HTTPFields(), reservedParameters: true)
        if let target = parsed?.target { holdAskable(target.text) }
    }
    if let target = Target(unchecked: "/items/1").resolving(text, under: base) { holdAskable(target.text) }
    if !text.isEmpty, let target = Target(unchecked: "/items").member(named: text) {
        holdAskable(target.text)
        hold(target.isMember(ofPath: "/items"), "an id is one segment")
    }
    let reference = URLReference(text)
    hold(reference.text.hasSameBytes(as: text), "a reference is put together as it was")
    if let form = URLReference.originForm(of: text, under: base) {
        hold(
            reference.host == "origin.test" && [nil, UInt8(ascii: "/"), UInt8(ascii: "?")].contains(form.utf8.first),
            "the base's own")
    }
    hold(Percent.decode(Percent.encode(text)).hasSameBytes(as: text), "percent-encoding is undone")
    hold(Base64.decode(Base64.encode(bytes)) == bytes && Hex.decode(Hex.encode(bytes)) == bytes, "encodings are undone")
    if let decoded = Base64.decode(text) { hold(Base64.decode(Base64.encode(decoded)) == decoded, "Base64 is undone") }
    _ = QueryParameter.split(text)
    judgeIdentity(text)
}

private func holdAskable(_ target: String) {
    hold(
        target.isEmpty || target.utf8.first == UInt8(ascii: "/") || target.utf8.first == UInt8(ascii: "?"), "its start")
    hold(!target.utf8.starts(with: "//".utf8), "no authority")
    hold(!target.utf8.contains { $0 <= 0x20 || $0 == 0x7F }, "a target fits a request line")
    let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
    hold(!path.contains(UInt8(ascii: "\\")), "no backslash")
    hold(
        !path.split(separator: UInt8(ascii: "/")).contains { [".", ".."].contains(Percent.decode(Substring($0))) },
        "no climbing")
}

/// Credentials as a client sends them, by each way of naming the part that stays.
private func judgeIdentity(_ text: String) {
    let parts: [IdentityPart] = [
        .basicUser, .jwt(claims: ["iss", "sub"]), .cookies(names: ["sid"]), .header("X-User"),
    ]
    for part in parts {
        var settings = Settings()
        settings.partitionBy = [PartitionRule(path: PathPattern("/**"), part: part)]
        for field in ["Authorization", "Cookie", "X-User"] {
            let identity = Identity.of(
                fields: HTTPFields([HTTPField(field, text)]), target: Target(unchecked: "/a"), settings: settings
            ) { bytes in PartitionID(high: UInt64(bytes.count) | 1, low: 1) }
            hold((identity.partition == .none) == identity.credentials.isEmpty, "credentials make a partition")
        }
    }
}

/// The configuration file, its keys taken as flags.
func judgeConfiguration(_ bytes: [UInt8]) {
    guard let members = (try? JSONValue(parsing: bytes))?.members else { return }
    let flags = [JSONMember("origin", "http://origin.test")] + members.filter { $0.name != "config" }
    do {
        let configuration = try Configuration(flags: flags, environment: [:])
        hold(configuration.threads > 0 && configuration.settings.replayConcurrency > 0, "counts are above nothing")
        hold(configuration.settings.laneWait >= 0 && configuration.settings.settle >= 0, "times are not below nothing")
    } catch {
        hold(!"\(error)".isEmpty, "a refusal says why")
    }
}
