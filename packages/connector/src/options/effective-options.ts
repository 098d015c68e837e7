/** The options of a binding as operators read them: with defaults applied, and code by name. */

import { isPlainObject } from '@waybill/core/option'
import type { ResolvedTier } from '../binding/resolved-binding.ts'
import { preparerOf } from '../handlers/handle-events.ts'
import { isSchema } from '../handlers/value-decoder.ts'
import type { DeclaredValues } from './binding-rules.ts'

/** Values that are derived from several options. */
export interface DerivedOptions {
  readonly tiers: readonly ResolvedTier[]
  readonly replayTarget: string
}

/**
 * Returns the options in effect, as data that JSON can hold. Options without a value are left out. Functions, classes and
 * other objects are shown by name: they have no other form, and may hold secrets.
 */
export function effectiveOptions(
  values: DeclaredValues,
  { tiers, replayTarget }: DerivedOptions,
): Readonly<Record<string, unknown>> {
  const { retry, dlt } = values
  const given = retry.tiers ?? []
  return describeObject({
    ...values,
    retry: {
      ...retry,
      tiers: tiers.map(({ delayMs, maxAttempts, concurrency }, at) => ({
        delayMs,
        maxAttempts,
        topicSuffix: given[at]?.topicSuffix,
        concurrency,
      })),
    },
    dlt: { ...dlt, replay: { ...dlt.replay, target: replayTarget } },
  })
}

function describeObject(given: object): Readonly<Record<string, unknown>> {
  const present = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.freeze(Object.fromEntries(present.map(([key, value]) => [key, describeValue(value)])))
}

function describeValue(value: unknown): unknown {
  if (typeof value === 'bigint' || value instanceof RegExp) return String(value)
  if (Array.isArray(value)) return Object.freeze(value.map(describeValue))
  if (isSchema(value)) return `schema of ${value['~standard'].vendor}`
  if (typeof value === 'function') return value.name || 'function'
  if (typeof value !== 'object' || value === null) return value
  if (preparerOf(value) !== undefined) return `handleEvents of ${namesIn((value as { handlers: object }).handlers)}`
  return isData(value) ? describeObject(value) : describeCode(value)
}

/** Options are plain objects too; an object with functions is code, such as a store or a batch handler. */
function isData(value: object): boolean {
  return isPlainObject(value) && !Object.values(value).some((one) => typeof one === 'function')
}

function describeCode(value: object): string {
  const { name } = value.constructor ?? {}
  return name === undefined || name === 'Object' ? `object with ${namesIn(value)}` : name
}

function namesIn(value: object): string {
  return Object.entries(value)
    .filter(([, one]) => typeof one === 'function')
    .map(([name]) => name)
    .join(', ')
}
