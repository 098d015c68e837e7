/**
 * The arguments of operator commands. They are validated before anything is written or run: an ignored misspelled key
 * would move all partitions instead of one.
 */

import type { StopOptions } from '@waybill/core'
import {
  boolean,
  durationMs,
  func,
  hasMethods,
  instance,
  integer,
  isPlainObject,
  list,
  nearest,
  nested,
  oneOf,
  optional,
  type Report,
  type Rule,
  resolveOptions,
  text,
} from '@waybill/core/option'
import type { PausedRecord } from '../api/control.ts'
import type { PurgeOptions, ReplayOptions, ReplaySelection, ScanOptions } from '../api/dead-letter-admin.ts'
import type { PositionTarget, ResetPosition, SeekPosition, SkipPosition } from '../api/position-command.ts'

/** One rule for each key, and no others. */
type RulesOf<T> = { readonly [K in keyof Required<T>]: Rule<T[K] | undefined> }

type Selected = { readonly count?: number; readonly from?: number; readonly to?: number }
type Scanned = ScanOptions & Pick<Selected, 'from' | 'to'>
type Ends = Pick<ReplayOptions, 'signal' | 'onProgress'>

const isNumberFrom = (least: number, value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= least

const count = instance<number>('a whole number from 1 on', (value) => isNumberFrom(1, value))
const time = instance<number>('a time in epoch milliseconds', (value) => isNumberFrom(0, value))
const age = instance<number>('an age in milliseconds, not a time', (value) => isNumberFrom(0, value))
const partition = integer({ min: 0 })
// Not `instanceof`: a signal may come from another realm.
const signal = instance<AbortSignal>('an AbortSignal', (value) => hasMethods(value, 'throwIfAborted'))
const offset: Rule<bigint> = {
  ...instance<bigint>('a bigint of 0 or more', (value) => typeof value === 'bigint' && value >= 0n),
  meant: (value) => (isNumberFrom(0, value) ? `${String(value)}n` : undefined),
}

const container = { tier: optional(integer({ min: 0 })), topic: optional(text()) }
const ends = { signal: optional(signal), onProgress: optional(func<() => void>()) }
const selected: RulesOf<Selected> = { count: optional(count), from: optional(time), to: optional(time) }

const seekRules: RulesOf<SeekPosition> = {
  to: targetOf<PositionTarget>({ offset: optional(offset), timestampMs: optional(time) }),
  partitions: optional(list(partition)),
  ...container,
}
const skipRules: RulesOf<SkipPosition> = { partition, offsets: list(offset), ...container }
const resetRules: RulesOf<ResetPosition> = {
  to: targetOf<ResetPosition['to']>({ timestampMs: optional(time) }),
  ...container,
}
const pausedRecordRules: RulesOf<PausedRecord> = { partition, offset, ...container }
const releaseRules: RulesOf<Selected & Ends> = { ...selected, ...ends }
const toTierRules: RulesOf<Selected & Omit<ReplayOptions, 'target'>> = { ...releaseRules, maxReplays: optional(count) }
const replayRules: RulesOf<Selected & ReplayOptions> = {
  ...toTierRules,
  target: optional(oneOf(['ORIGINAL', 'BINDING'])),
}
// Reading changes nothing, so any number is a valid bound.
const bound = instance<number>('a time in epoch milliseconds', (value) => typeof value === 'number' && value >= 0)
const scanRules: RulesOf<ScanOptions> = ends
const purgeRules: RulesOf<PurgeOptions & { readonly olderThanMs: number }> = {
  ...ends,
  olderThanMs: age,
  includeOtherGroups: optional(boolean()),
  dryRun: optional(boolean()),
}
const listRules: RulesOf<Scanned> = { ...ends, from: optional(bound), to: optional(bound) }
const stopRules: RulesOf<StopOptions> = { deadlineMs: optional(durationMs()) }

/** Validates the arguments of a command. @throws OptionsError with every violation */
type Reader<T> = (binding: string, given: unknown) => T

export const readSeek: Reader<SeekPosition> = readerOf<SeekPosition>('seek', seekRules)
export const readSkip: Reader<SkipPosition> = readerOf<SkipPosition>('skip', skipRules)
export const readReset: Reader<ResetPosition> = readerOf<ResetPosition>('reset', resetRules)
export const readSendToDlt: Reader<PausedRecord> = readerOf<PausedRecord>('sendToDlt', pausedRecordRules)
export const readStop: Reader<StopOptions> = readerOf<StopOptions>('stop', stopRules)
export const readDestroy: Reader<StopOptions> = readerOf<StopOptions>('destroy', stopRules)
export const readReplay: Reader<ReplaySelection & ReplayOptions> = selectionReader('replayDlt', replayRules)
export const readReplayToTier: Reader<ReplaySelection & Omit<ReplayOptions, 'target'>> = selectionReader(
  'replayToTier',
  toTierRules,
)
export const readRelease: Reader<ReplaySelection & Ends> = selectionReader('releaseDlt', releaseRules)
export const readPurge: Reader<PurgeOptions & { readonly olderThanMs: number }> = readerOf('purgeDlt', purgeRules)
export const readScan: Reader<ScanOptions> = readerOf<ScanOptions>('dltStats', scanRules)
export const readList: Reader<Scanned> = readerOf<Scanned>('deadLetters', listRules)

/** Splits the properties of a binding into its name and the rest, which the binding rules read. @throws OptionsError */
export function readRegister(given: unknown): { readonly name: string; readonly config: object } {
  const { name, ...config } = isPlainObject(given) ? given : { name: undefined }
  const known = resolveOptions('register()', { name: text() }, isPlainObject(given) ? { name } : given)
  return { name: known.name, config }
}

function readerOf<T extends object>(
  command: string,
  rules: RulesOf<T>,
  relations?: (options: T, report: Report) => void,
): Reader<T> {
  return (binding, given) => {
    const subject = `${command}() of ${binding}`
    return present(resolveOptions(subject, rules, given, (options, report) => relations?.(options as T, report))) as T
  }
}

function selectionReader<T extends Selected>(command: string, rules: RulesOf<T>): Reader<T & ReplaySelection> {
  return readerOf<T>(command, rules, checkSelection) as Reader<T & ReplaySelection>
}

function checkSelection(given: Selected, report: Report): void {
  if (given.from === undefined && given.to !== undefined) report('from', 'is required with to')
  else if (given.to === undefined && given.from !== undefined) report('to', 'is required with from')
  else if (given.from === undefined && given.count === undefined) report('count', 'is required without from and to')
  else if (given.from !== undefined && given.to !== undefined && given.from >= given.to)
    report('to', `must be later than from, ${given.from}`)
}

/** Accepts an end of the log, or an object with exactly one of the given keys. */
function targetOf<T extends PositionTarget>(places: Readonly<Record<string, Rule<unknown>>>): Rule<T> {
  const words = ['EARLIEST', 'LATEST']
  const names = Object.keys(places).map((name) => `{ ${name} }`)
  const place = nested(places)
  return {
    ...instance<T>(
      `one of ${[...words, ...names].join(', ')}`,
      (value) => words.includes(value as string) || place.accepts(value),
    ),
    meant: (value) => (typeof value === 'string' ? nearest(value, words) : undefined),
    inside: (value, path, report) => {
      if (typeof value === 'string') return value as T
      const given = present(value as object)
      if (Object.keys(given).length !== 1) report(path, `must have exactly one key, as in ${names.join(' or ')}`)
      return present(place.inside?.(given, path, report) ?? given) as T
    },
  }
}

/** Removes undefined values: the keys of a target or a selection decide which kind it is. */
function present(given: object): object {
  return Object.freeze(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)))
}
