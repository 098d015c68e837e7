/** The arguments of commands that name dead letters by their positions. */

import { Buffer } from 'node:buffer'
import {
  boolean,
  func,
  instance,
  integer,
  isPlainObject,
  list,
  mapOf,
  nested,
  optional,
  type Rule,
  resolveOptions,
  text,
} from '@waybill/core/option'
import type { OffsetRange } from '@waybill/kafka/internal'
import type {
  DeadLetterEdit,
  DeadLetterPosition,
  DeadLetterSelection,
  SelectedReplayOptions,
} from '../api/dead-letter-selection.ts'

type Rules<T> = { readonly [K in keyof Required<T>]: Rule<T[K]> }

const isOffset = (value: unknown): value is bigint => typeof value === 'bigint' && value >= 0n

const isPlace = (value: unknown): boolean => {
  const { topic, partition } = (value ?? {}) as Partial<DeadLetterPosition>
  return typeof topic === 'string' && Number.isSafeInteger(partition) && Number(partition) >= 0
}

const range = instance<OffsetRange>('an object like { topic, partition, from: 0n, until: 5n }', (value) => {
  if (!isPlace(value)) return false
  const { from, until } = value as Partial<OffsetRange>
  return isOffset(from) && isOffset(until)
})

const positionRule = instance<DeadLetterPosition>('an object like { topic, partition, offset: 0n }', (value) => {
  return isPlace(value) && isOffset((value as Partial<DeadLetterPosition>).offset)
})

const targets = ['ORIGINAL', 'BINDING', 'RELEASE']

const to = instance<SelectedReplayOptions['to']>("one of 'ORIGINAL', 'BINDING', 'RELEASE', { tier }", (value) => {
  if (!isPlainObject(value)) return targets.includes(value as string)
  return Object.keys(value).join() === 'tier' && Number.isSafeInteger(value['tier']) && Number(value['tier']) >= 1
})

const headerText = instance<string>('a text', (value) => typeof value === 'string')

const editRules: Rules<DeadLetterEdit> = {
  value: optional(instance<Buffer | null>('a Buffer or null', (value) => value === null || Buffer.isBuffer(value))),
  setHeaders: optional(mapOf(headerText)),
  removeHeaders: optional(list(text())),
}

const replayRules: Rules<Omit<SelectedReplayOptions, 'editedBy'>> = {
  to,
  maxReplays: optional(integer({ min: 1 })),
  operation: optional(
    instance<string>('the id of an operation', (value) => typeof value === 'string' && /^op_[0-9A-Z]{26}$/.test(value)),
  ),
  edit: optional(nested(editRules)),
  dryRun: optional(boolean()),
}

const selectionRules: Rules<DeadLetterSelection> = {
  ranges: list(range),
  where: optional(func<NonNullable<DeadLetterSelection['where']>>()),
}

const rangesRules = {
  from: optional(instance<number>('a time in epoch milliseconds', (value) => typeof value === 'number' && value >= 0)),
}

/** Validates an argument of a command. @throws OptionsError with every violation */
type Reader<T> = (binding: string, given: unknown) => T

export const readSelection: Reader<DeadLetterSelection> = (binding, given) =>
  resolveOptions(`selection of ${binding}`, selectionRules, given)

export const readSelectedReplay: Reader<SelectedReplayOptions> = (binding, given) =>
  resolveOptions(`replay of ${binding}`, replayRules, given)

export const readPositions: Reader<{ readonly positions: readonly DeadLetterPosition[] }> = (binding, given) =>
  resolveOptions(`replayDeadLetters() of ${binding}`, { positions: list(positionRule) }, given)

export const readPosition: Reader<DeadLetterPosition> = (binding, given) =>
  resolveOptions(`deadLetter() of ${binding}`, { position: positionRule }, { position: given }).position

export const readRanges: Reader<{ readonly from?: number }> = (binding, given) => {
  const { from } = resolveOptions(`deadLetterRanges() of ${binding}`, rangesRules, given)
  return from === undefined ? {} : { from }
}
