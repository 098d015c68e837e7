import { instance, mapOf, type Report, type Rule } from '../option/rule.ts'
import { isStandardSchema } from './is-standard-schema.ts'
import type { Upcaster } from './upcaster.ts'

/** The steps of an event, by the version that each starts from. */
type Upcasters = Readonly<Record<number, Upcaster>>

/** Accepts steps made by `upcast`, or objects of the same shape. */
export const upcastersRule: Rule<Upcasters> = mapOf(instance<Upcaster>('a step made by upcast', isUpcaster))

/** The parts of an event that its steps must fit. */
interface SteppedEvent {
  readonly version: number
  readonly schema: unknown
  readonly upcasters?: Upcasters | undefined
}

/**
 * Reports steps that do not lead from version 1 to the event's own version, each to where the next one starts. A hole would be
 * found only when an event of that version arrives.
 */
export function checkSteps({ version, schema, upcasters = {} }: SteppedEvent, path: string, report: Report): void {
  const keys = Object.keys(upcasters)
  if (keys.length === 0) return
  for (const key of keys)
    if (!/^[1-9]\d*$/.test(key) || Number(key) >= version)
      report(
        `${path}.upcasters[${JSON.stringify(key)}]`,
        `must start from a version below ${version}, the version of the event`,
      )
  for (let from = 1; from < version; from += 1) {
    const step = upcasters[from]
    if (step === undefined) {
      report(`${path}.upcasters`, `must have a step from version ${from}: the steps lead from version 1 to ${version}`)
      // One hole is reported, since a misspelled version may leave billions of them.
      return
    }
    const next = from + 1 === version ? schema : upcasters[from + 1]?.from
    if (next !== undefined && step.to !== next)
      report(`${path}.upcasters["${from}"]`, `must lead to the schema of version ${from + 1}, the same object`)
  }
}

function isUpcaster(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { from, to, up } = value as Partial<Upcaster>
  return isStandardSchema(from) && isStandardSchema(to) && typeof up === 'function'
}
