import { ArgumentError } from '@waybill/core'
import type { ContractFinding } from '../rule/finding.ts'
import { isJsonObject } from '../schema/json.ts'

/** An accepted finding, until a day. */
export interface ContractWaiver {
  readonly code: string
  readonly event: string
  /** Text that the message of the finding contains; absent for all findings of the code. */
  readonly message?: string
  /** Last day on which it holds, as `2026-12-31`. */
  readonly until: string
  readonly reason: string
}

/**
 * Reads a file of waivers: a list in JSON.
 *
 * @throws {@link ArgumentError} for an entry without a code, an event, a last day or a reason.
 */
export function readWaivers(path: string, text: string): readonly ContractWaiver[] {
  const entries = parseList(path, text)
  return entries.map((entry, index) => {
    if (!isWaiver(entry))
      throw new ArgumentError(`Entry ${index} of ${path} is no waiver.`, {
        hint: 'Each has "code", "event", "until" (a day such as 2026-12-31) and a "reason".',
      })
    return entry
  })
}

/** Tells whether a waiver covers a finding of an event. */
export function isWaivedBy(waiver: ContractWaiver, event: string, { code, message }: ContractFinding): boolean {
  return waiver.code === code && waiver.event === event && message.includes(waiver.message ?? '')
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

function isWaiver(entry: unknown): entry is ContractWaiver {
  if (!isJsonObject(entry)) return false
  const { code, event, until, reason, message } = entry
  return (
    [code, event, until, reason].every((field) => typeof field === 'string' && field !== '') &&
    typeof until === 'string' &&
    /^\d{4}-\d{2}-\d{2}$/.test(until) &&
    (message === undefined || typeof message === 'string')
  )
}
