import { nearest } from '@waybill/core/option'
import { serviceNames } from '@waybill/services'

/** Everything that WAYBILL_REQUIRE can name: the real services, an older Node for the published packages, and a browser. */
export const requirable = [...serviceNames, 'node22', 'chromium'] as const

/** One of {@link requirable}. */
export type Requirement = (typeof requirable)[number]

/** The names in WAYBILL_REQUIRE, and a problem for each unknown one: a misspelled name would require nothing. */
export interface Requirements {
  readonly names: readonly Requirement[]
  readonly problems: readonly string[]
}

/** Reads WAYBILL_REQUIRE, a list such as `kafka,postgres`. The run fails if one of them is absent. */
export function readRequirements(environment: NodeJS.ProcessEnv = process.env): Requirements {
  const words = (environment['WAYBILL_REQUIRE'] ?? '').split(',').map((word) => word.trim())
  const given = words.filter((word) => word !== '')
  return {
    names: given.filter(isKnown),
    problems: given.filter((word) => !isKnown(word)).map(describeUnknown),
  }
}

function isKnown(word: string): word is Requirement {
  return (requirable as readonly string[]).includes(word)
}

function describeUnknown(word: string): string {
  const meant = nearest(word, requirable)
  const advice = meant === undefined ? `known are ${requirable.join(', ')}` : `did you mean ${meant}?`
  return `WAYBILL_REQUIRE names "${word}"; ${advice}`
}
