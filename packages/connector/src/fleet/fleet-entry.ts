/**
 * The entries of a fleet in its log. Versions beside this one read them: a later version only adds members, and raises
 * `v` where an earlier one would misread it.
 *
 * | key | value | written by |
 * |---|---|---|
 * | `command/{id}` | a command, and who was asked to answer it | the process that submits it |
 * | `answer/{id}/{incarnation}` | the answer of an instance | that instance |
 * | `desired/{target}` | the state after all commands up to a position | a process that has seen their answers |
 * | `status/{incarnation}` | the states of an instance's bindings; null: it has left | that instance |
 */

import { createHash } from 'node:crypto'
import type { OperatorIdentity } from '@waybill/core'
import { longestLogKey, type SharedLogEntry } from '@waybill/core/internal'
import { isPlainObject } from '@waybill/core/option'
import type {
  BindingStatus,
  ControlCommand,
  ControlTarget,
  DesiredState,
  InstanceAnswer,
  InstanceHealth,
} from '../api/control.ts'
import type { PositionCommand, PositionReport } from '../api/position-command.ts'
import { targetKey } from '../operations/desired-state.ts'
import { fromJson, toJson } from './fleet-json.ts'
import { type ReportedError, reportOf } from './instance-failed-error.ts'

/** The version of entries that this code writes. */
export const entryVersion = 1

/** A step of moving positions. AWAY and BACK are for all instances, MOVE is for one. `by` is an incarnation. */
export type PositionStep =
  | { readonly type: 'AWAY'; readonly forMs: number; readonly by?: string }
  | { readonly type: 'MOVE'; readonly by: string; readonly command: PositionCommand }
  | { readonly type: 'BACK'; readonly away: string }

/** A command as it is in the log. */
export interface CommandEntry {
  readonly id: string
  readonly target: ControlTarget
  readonly command: Exclude<ControlCommand, PositionCommand> | PositionStep
  readonly operator: OperatorIdentity
  /** The incarnations that were asked to answer. */
  readonly awaited: readonly string[]
  /** How long its answers are waited for. */
  readonly waitMs: number
}

/** An answer as it is in the log. */
export interface AnswerEntry {
  readonly command: string
  readonly incarnation: string
  readonly instance: string
  readonly outcome: 'APPLIED' | 'FAILED'
  readonly state: InstanceAnswer['state']
  readonly error?: ReportedError
  readonly positions?: readonly PositionReport[]
}

/** The state of an instance as it is in the log. */
export interface StatusEntry {
  readonly instance: string
  readonly incarnation: string
  readonly version?: string
  readonly bindings: readonly BindingStatus[]
  /** Absent from processes of an earlier version. */
  readonly health?: InstanceHealth
}

/** A desired state as it is in the log. */
export interface DesiredEntry {
  readonly target: ControlTarget
  /** Null: forgotten, as after a destroy. */
  readonly state: DesiredState | null
  /** The tiers that are paused on their own; absent for none. */
  readonly tiers?: readonly number[]
  /** The position of the last command that it includes. */
  readonly upTo: string
  readonly by: string
}

/** An entry that this version knows. */
export type FleetEntry =
  | { readonly kind: 'COMMAND'; readonly value: CommandEntry }
  | { readonly kind: 'ANSWER'; readonly value: AnswerEntry }
  | { readonly kind: 'DESIRED'; readonly value: DesiredEntry }
  | { readonly kind: 'STATUS'; readonly value: StatusEntry }
  | { readonly kind: 'GONE' }
  | { readonly kind: 'UNKNOWN'; readonly why: string }

export const commandKey = (id: string): string => `command/${id}`
export const answerKey = (id: string, incarnation: string): string => `answer/${id}/${incarnation}`
export const statusKey = (incarnation: string): string => `status/${incarnation}`

/** Returns the key of a binding's desired state. Names that are too long for a key are hashed. */
export function desiredKey(target: ControlTarget): string {
  const key = `desired/${targetKey(target)}`
  return key.length <= longestLogKey ? key : `desired/#${createHash('sha256').update(key).digest('hex')}`
}

/** Returns the value of an entry. */
export function valueOf(entry: CommandEntry | AnswerEntry | DesiredEntry | StatusEntry): unknown {
  return toJson({ v: entryVersion, ...entry })
}

/** Returns the answer of an instance as an entry. */
export function answerEntry(command: string, incarnation: string, answer: InstanceAnswer): AnswerEntry {
  const { instance, outcome, state, error, positions } = answer
  return {
    command,
    incarnation,
    instance,
    outcome: outcome === 'APPLIED' ? 'APPLIED' : 'FAILED',
    state,
    ...(error === undefined ? {} : { error: reportOf(error) }),
    ...(positions === undefined ? {} : { positions }),
  }
}

/** Reads an entry. One of a later version, or of another program, is UNKNOWN. */
export function readEntry({ key, value }: Pick<SharedLogEntry, 'key' | 'value'>): FleetEntry {
  if (value === null) return { kind: 'GONE' }
  const decoded = fromJson(value)
  if (!isPlainObject(decoded)) return { kind: 'UNKNOWN', why: 'it is not an object' }
  const { v, ...members } = decoded
  // The next version may have added members, which are passed over.
  if (typeof v !== 'number' || v > entryVersion + 1) return { kind: 'UNKNOWN', why: `its format is ${String(v)}` }
  const entry = entryOf(key, members)
  return entry ?? { kind: 'UNKNOWN', why: 'members are missing' }
}

function entryOf(key: string, given: Readonly<Record<string, unknown>>): FleetEntry | undefined {
  const isText = (...names: readonly string[]): boolean => names.every((name) => typeof given[name] === 'string')
  if (key.startsWith('command/') && isText('id') && isTarget(given['target']) && isPlainObject(given['command']))
    return Array.isArray(given['awaited']) ? { kind: 'COMMAND', value: given as never } : undefined
  if (key.startsWith('answer/') && isText('command', 'incarnation', 'instance', 'outcome'))
    return { kind: 'ANSWER', value: { state: undefined, ...given } as never }
  if (key.startsWith('desired/') && isTarget(given['target']) && isText('upTo'))
    return { kind: 'DESIRED', value: given as never }
  if (key.startsWith('status/') && isText('instance', 'incarnation') && Array.isArray(given['bindings']))
    return { kind: 'STATUS', value: statusOf(given, given['bindings']) as never }
  return undefined
}

function statusOf({ health, ...given }: Readonly<Record<string, unknown>>, bindings: readonly unknown[]): object {
  return { ...given, bindings: bindings.filter(isStatus), ...(isHealth(health) ? { health } : {}) }
}

function isHealth(value: unknown): boolean {
  if (!isPlainObject(value) || !Array.isArray(value['reasons'])) return false
  return typeof value['status'] === 'string' && value['reasons'].every((one) => typeof one === 'string')
}

function isTarget(value: unknown): value is ControlTarget {
  return isPlainObject(value) && ['cluster', 'groupId', 'binding'].every((name) => typeof value[name] === 'string')
}

function isStatus(value: unknown): boolean {
  return isPlainObject(value) && isTarget(value['target']) && Array.isArray(value['pausedBy'])
}
