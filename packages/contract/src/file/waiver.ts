import { ArgumentError } from '@waybill/core'
import type { ContractFinding } from '../rule/finding.ts'
import { isJsonObject } from '../schema/json.ts'

/** An accepted finding, until a day. */
export interface ContractWaiver {
  readonly code: string
  readonly event: string
  /** Text that the message of the finding contains; absent for all findings of the code. */
  readonly message?: string
  /** JSON Pointer of the finding in the newer schema, or in the older one; absent for all places. */
  readonly path?: string
  /** Last day on which it holds, as `2026-12-31`. */
  readonly until: string
  readonly reason: string
  /** Owner of the decision. */
  readonly by?: string
}

/**
 * Reads a file of waivers: a list in JSON.
 *
 * @throws {@link ArgumentError} for an entry without a code, an event, a last day or a reason, or with an unknown field.
 */
export function readWaivers(path: string, text: string): readonly ContractWaiver[] {
  const entries = parseList(path, text)
  return entries.map((entry, index) => {
    if (!isWaiver(entry))
      throw new ArgumentError(`Entry ${index} of ${path} is no waiver.`, {
        hint: 'Each has "code", "event", "until" (a day such as 2026-12-31) and "reason", and may have "path", "message" and "by".',
      })
    return entry
  })
}

/** Tells whether a waiver covers a finding of an event. */
export function isWaivedBy(waiver: ContractWaiver, event: string, { code, message, at }: ContractFinding): boolean {
  return (
    waiver.code === code &&
    waiver.event === event &&
    message.includes(waiver.message ?? '') &&
    (waiver.path === undefined || waiver.path === at.newer || waiver.path === at.older)
  )
}

/** Tells whether a waiver still holds on a day. */
export function holdsOn({ until }: ContractWaiver, today: string): boolean {
  return today <= until
}

function parseList(path: string, text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value)) return value as readonly unknown[]
  } catch (cause) {
    throw new ArgumentError(`${path} is not JSON.`, { cause })
  }
  throw new ArgumentError(`${path} is no list of waivers.`)
}

const required = ['code', 'event', 'until', 'reason']
const optional = ['message', 'path', 'by']

/** An unknown field is refused: a misspelt `path` would waive every place. */
function isWaiver(entry: unknown): entry is ContractWaiver {
  if (!isJsonObject(entry)) return false
  const { until } = entry
  return (
    required.every((field) => typeof entry[field] === 'string' && entry[field] !== '') &&
    Object.entries(entry).every(
      ([field, value]) => [...required, ...optional].includes(field) && typeof value === 'string',
    ) &&
    isDay(until)
  )
}

/** Tells whether a text is a day that exists: 2026-02-30 is none. */
function isDay(text: unknown): boolean {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const time = Date.parse(`${text}T00:00:00Z`)
  return Number.isFinite(time) && new Date(time).toISOString().startsWith(text)
}
