import type { PublicPackage } from './public-packages.ts'

/** The contents of a release. */
export interface Release {
  /** The git tag: `v1.2.3`. */
  readonly tag: string
  readonly packages: readonly Pick<PublicPackage, 'name' | 'version' | 'dependencies'>[]
  /** The text of CHANGELOG.md. */
  readonly changelog: string
}

/**
 * Returns the reasons why a release must not go out, as sentences; empty when it may. A published version can never be
 * withdrawn.
 */
export function releaseProblems({ tag, packages, changelog }: Release): string[] {
  const version = tag.replace(/^v/, '')
  return [
    ...(/^v\d+\.\d+\.\d+(-[\w.]+)?$/.test(tag) ? [] : [`The tag ${tag} is not of the form v1.2.3 or v1.2.3-rc.1.`]),
    ...packages.flatMap((each) => versionProblems(each, version, new Set(packages.map(({ name }) => name)))),
    ...changelogProblems(changelog, version),
  ]
}

function versionProblems(
  { name, version, dependencies }: Release['packages'][number],
  wanted: string,
  siblings: ReadonlySet<string>,
): string[] {
  const own =
    version === wanted ? [] : [`${name} has version ${version}, the tag says ${wanted}: all share one version.`]
  const stale = Object.entries(dependencies).filter(([sibling, range]) => siblings.has(sibling) && range !== wanted)
  return [...own, ...stale.map(([sibling, range]) => `${name} depends on ${sibling} ${range}, not on ${wanted}.`)]
}

function changelogProblems(changelog: string, version: string): string[] {
  const released = entriesUnder(changelog, version)
  if (released === undefined) return [`CHANGELOG.md has no section for ${version}.`]
  if (released === 0) return [`CHANGELOG.md says nothing under ${version}.`]
  // The whole tagged tree ships, so a line left under Unreleased would describe something already released.
  return (entriesUnder(changelog, 'Unreleased') ?? 0) > 0
    ? [`CHANGELOG.md still has entries under Unreleased: they ship with ${version}, so move them there.`]
    : []
}

/** Counts the list items under a heading (`## 1.2.3`, `## [1.2.3] - 2026-01-31`); undefined without one. */
function entriesUnder(changelog: string, title: string): number | undefined {
  const sections = changelog.split(/^## /m).slice(1)
  const section = sections.find((each) => /^\[?([^\]\s]+)/.exec(each)?.[1] === title)
  return section?.match(/^[-*] \S/gm)?.length ?? (section === undefined ? undefined : 0)
}
