import { nearest } from '@waybill/core/option'
import { serviceNames } from '@waybill/services'

/** What a run can be made to insist on: the real services, and an older Node to try the published packages on. */
export const requirable = [...serviceNames, 'node22'] as const

/** One of {@link requirable}. */
export type Requirement = (typeof requirable)[number]

/** What WAYBILL_REQUIRE says, and what in it is no known word: a misspelt requirement would require nothing. */
export interface Requirements {
  readonly names: readonly Requirement[]
  readonly problems: readonly string[]
}

/** Reads WAYBILL_REQUIRE, a list such as `kafka,postgres`. What it names must be there, or the run fails. */
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
