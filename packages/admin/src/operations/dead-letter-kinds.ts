/** Replays, replays to a tier, releases and edited replays of dead letters: one engine, four requests. */

import { Buffer } from 'node:buffer'
import type { Connector, StoredDeadLetter } from '@waybill/connector'
import {
  type DeadLetterEdit,
  type DeadLetterReplay,
  type RefusedDeadLetter,
  type ReplayBatch,
  rangesOf,
  type SelectedReplayOptions,
} from '@waybill/connector/internal'
import { ArgumentError, describeThrown, type OperatorIdentity, StateError } from '@waybill/core'
import { type LogRange, type OperationType, rangeToJson, type StoredOperation } from '@waybill/core/internal'
import type { Fingerprint } from '../dead-letters/fingerprint.ts'
import { countSelection } from './count-selection.ts'
import { type LetterFilter, predicateOf } from './dead-letter-predicate.ts'
import { cursorOf } from './decide-step.ts'
import type { LetterMarks, LetterStates } from './letter-states.ts'
import { type FrozenNext, NextLettersSession } from './next-letters.ts'
import type {
  AppliedBatch,
  OperationKind,
  OperationSession,
  PlannedOperation,
  RefusedRecord,
  RunBatch,
} from './operation-kind.ts'
import { readEditRequest, readReplayRequest, singleLimits } from './operation-request.ts'

/** The collaborators of the kinds. */
export interface DeadLetterKindDeps {
  readonly connector: Pick<Connector, 'admin'>
  /** Where operations look for states, and note theirs; undefined: states are not known. */
  readonly states: LetterStates | undefined
  readonly fingerprint: Fingerprint
}

/** A frozen request, as it is stored. */
interface FrozenReplay {
  readonly binding: string
  readonly filter?: LetterFilter
  readonly next?: number
  readonly to: SelectedReplayOptions['to']
  readonly maxReplays?: number
  /** The value is base64. */
  readonly edit?: Omit<DeadLetterEdit, 'value'> & { readonly value?: string | null }
}

/** A request whose target may be that of its binding. */
type AskedReplay = Omit<FrozenReplay, 'to'> & { readonly to: FrozenReplay['to'] | 'DEFAULT' }

/** Creates a kind of operations on dead letters. */
export function createDeadLetterKind(
  type: Extract<OperationType, 'REPLAY' | 'REPLAY_TO_TIER' | 'RELEASE' | 'EDIT_REPLAY'>,
  deps: DeadLetterKindDeps,
): OperationKind {
  const { connector, fingerprint, states } = deps
  const open = (
    frozen: FrozenReplay,
    ranges: readonly LogRange[],
    options: Pick<SelectedReplayOptions, 'operation' | 'dryRun'>,
    operator: OperatorIdentity,
    onSelected?: (letter: StoredDeadLetter) => void,
  ): Promise<DeadLetterReplay> => {
    const { binding, filter, maxReplays, edit } = frozen
    const selects = filter === undefined ? () => true : predicateOf(filter, fingerprint)
    const where = (letter: StoredDeadLetter): boolean => {
      if (!selects(letter)) return false
      onSelected?.(letter)
      return true
    }
    return connector.admin.openReplay(
      binding,
      { ranges, where },
      {
        to: frozen.to,
        ...options,
        ...(maxReplays === undefined ? {} : { maxReplays }),
        ...(edit === undefined ? {} : { edit: thawed(edit) }),
      },
      operator,
    )
  }
  return {
    type,
    isIdempotent: false,
    isExclusive: true,
    async plan(given, operator, isCounted): Promise<PlannedOperation> {
      const { frozen: asked, limits, ranges: chosen } = type === 'EDIT_REPLAY' ? frozenEdit(given) : frozenReplay(given)
      const { admin } = connector
      const to = asked.to === 'DEFAULT' ? defaultTargetOf(connector, asked.binding) : asked.to
      const frozen = { ...asked, to }
      const { sinceMs } = frozen.filter ?? {}
      const held = await admin.deadLetterRanges(
        frozen.binding,
        operator,
        sinceMs === undefined ? {} : { from: sinceMs },
      )
      for (const range of chosen ?? []) requireHeld(range, held, frozen.binding)
      const ranges = chosen ?? held
      // Opened in any case: a request that cannot run must not become an operation.
      await using replay = await open(frozen, ranges, { dryRun: true }, operator)
      const openAmong = states?.openAmong(connector, frozen.binding)
      const counts = isCounted && frozen.next === undefined ? await countSelection(replay, openAmong) : undefined
      return {
        target: targetOf(connector, frozen.binding),
        request: { ...frozen, ...limits },
        ranges: frozen.next === undefined ? ranges : [],
        plan: { targets: replay.targets, ranges: ranges.map(rangeToJson), ...counts },
      }
    },
    async open({ id, request, progress }: StoredOperation, operator): Promise<OperationSession> {
      const { next } = request as FrozenReplay
      if (next !== undefined)
        return new NextLettersSession(connector.admin, request as FrozenNext, cursorOf(progress).position, operator)
      const frozen = request as FrozenReplay
      const marks = states?.open(connector, { id, type, binding: frozen.binding })
      const onSelected = marks === undefined ? undefined : marks.read
      const replay = await open(frozen, progress.remaining, { operation: id }, operator, onSelected)
      return new DeadLetterSession(replay, marks)
    },
  }
}

/** @throws ArgumentError for a position outside of the dead letter topics: another topic must not be read or copied */
function requireHeld({ topic, partition, from, until }: LogRange, held: readonly LogRange[], binding: string): void {
  const range = held.find((one) => one.topic === topic && one.partition === partition)
  if (range !== undefined && from >= range.from && until <= range.until) return
  const at = range !== undefined && from >= range.from && from < range.until ? range.until : from
  throw new ArgumentError(
    `The dead letter topics of binding '${binding}' hold nothing at ${topic}:${partition}:${at}.`,
    {
      hint: 'A purge or the retention may have deleted it: read the list again.',
    },
  )
}

class DeadLetterSession implements OperationSession {
  readonly #replay: DeadLetterReplay
  readonly #marks: LetterMarks | undefined
  readonly #batches = new WeakMap<RunBatch, ReplayBatch>()

  constructor(replay: DeadLetterReplay, marks: LetterMarks | undefined) {
    this.#replay = replay
    this.#marks = marks
  }

  async next(maxCount: number): Promise<RunBatch | undefined> {
    const read = await this.#replay.next(maxCount)
    if (read === undefined) return undefined
    const { scanned, selected, refused, remaining } = read
    const batch = {
      scanned,
      count: selected.length,
      intended: rangesOf(selected),
      refused: refused.map(refusedRecord),
      remaining,
    }
    this.#batches.set(batch, read)
    return batch
  }

  async apply(batch: RunBatch): Promise<AppliedBatch> {
    const read = this.#batches.get(batch) as ReplayBatch
    const { selected } = read
    let taken = selected
    try {
      taken = (await this.#marks?.take(selected)) ?? selected
    } catch (error) {
      // Nothing was sent: the batch is repeated once the index answers.
      const failure = error instanceof Error ? error : new StateError(describeThrown(error))
      return { sent: 0, refused: [], unsent: batch.intended, unknown: [], failure }
    }
    const others = selected.filter((one) => !taken.includes(one))
    const { sent, refused, unsent, unknown, failure } = await this.#replay.send({ ...read, selected: taken })
    await this.#marks?.giveBack([...refused, ...unsent])
    return {
      sent: sent.length,
      refused: [...others.map((one) => ({ ...one, reason: 'NOT_OPEN' })), ...refused].map(refusedRecord),
      unsent: rangesOf(unsent),
      unknown: rangesOf(unknown),
      failure,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#replay[Symbol.asyncDispose]()
  }
}

function refusedRecord({ topic, partition, offset, reason }: RefusedDeadLetter): RefusedRecord {
  return { reason, at: { topic, partition, offset } }
}

function frozenReplay(given: object): { frozen: AskedReplay; limits: object; ranges: readonly LogRange[] | undefined } {
  const { type, binding, filter, positions, next, target, tier, maxReplays, ...limits } = readReplayRequest(given)
  const to: AskedReplay['to'] =
    type === 'RELEASE' ? 'RELEASE' : type === 'REPLAY' ? (target ?? 'DEFAULT') : { tier: tier as number }
  const frozen = {
    binding,
    to,
    ...(filter === undefined ? {} : { filter: present(filter) }),
    ...(maxReplays === undefined ? {} : { maxReplays }),
    ...(next === undefined ? {} : { next }),
  }
  if (next !== undefined) return { frozen, limits: { ...limits, limit: next, abortWhen: false }, ranges: undefined }
  return { frozen, limits, ranges: positions === undefined ? undefined : rangesOf(positions) }
}

function frozenEdit(given: object): ReturnType<typeof frozenReplay> {
  const { binding, position, target, value, setHeaders, removeHeaders } = readEditRequest(given)
  const edit = {
    ...(value === undefined ? {} : { value: value === null ? null : Buffer.from(value).toString('base64') }),
    ...(setHeaders === undefined ? {} : { setHeaders }),
    ...(removeHeaders === undefined ? {} : { removeHeaders }),
  }
  return { frozen: { binding, to: target ?? 'DEFAULT', edit }, limits: singleLimits, ranges: rangesOf([position]) }
}

function thawed({ value, ...edit }: NonNullable<FrozenReplay['edit']>): DeadLetterEdit {
  if (value === undefined) return edit
  return { ...edit, value: value === null ? null : Buffer.from(value, 'base64') }
}

function present<T extends object>(given: T): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T
}

/** Returns the key of a binding. @throws BindingNotFoundError */
export function targetOf({ admin }: Pick<Connector, 'admin'>, binding: string): string {
  const { name, cluster } = admin.binding(binding)
  return `${cluster}:${name}`
}

function defaultTargetOf({ admin }: Pick<Connector, 'admin'>, binding: string): 'ORIGINAL' | 'BINDING' {
  const { options } = admin.binding(binding)
  const dlt = (options as { readonly dlt?: { readonly replay?: { readonly target?: unknown } } }).dlt
  return dlt?.replay?.target === 'BINDING' ? 'BINDING' : 'ORIGINAL'
}
