/**
 * A dead letter index in memory. It is filled again by each process, and bounded: the dead letters that were added first make
 * room for new ones.
 */

import type { Page, PageQuery } from '../page.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/runtime.ts'
import type {
  DeadLetterFacet,
  DeadLetterFacetCounts,
  DeadLetterFilter,
  DeadLetterIndex,
  DeadLetterRef,
  DeadLetterState,
  FailureGroup,
  FailureGroupHour,
  FailureGroupOrder,
  IndexedDeadLetter,
  IndexMove,
  IndexPosition,
} from './dead-letter-index.ts'
import {
  compareGroups,
  compareLetters,
  type GroupTriage,
  groupCursor,
  groupStateOf,
  isSelectedLetter,
  letterCursor,
  rankOf,
  readGroupCursor,
  readLetterCursor,
} from './dead-letter-order.ts'
import { facetCountsOf } from './facet-counts.ts'

/** Options of {@link createMemoryDeadLetterIndex}. */
export interface MemoryDeadLetterIndexOptions {
  /** @defaultValue 200,000: about 200 MB */
  readonly maxLetters?: number
  readonly runtime?: Runtime
}

/** Creates an index that ends with this process. */
export function createMemoryDeadLetterIndex({
  maxLetters = 200_000,
  runtime = systemRuntime,
}: MemoryDeadLetterIndexOptions = {}): DeadLetterIndex {
  return new MemoryDeadLetterIndex(maxLetters, runtime)
}

const hourMs = 3_600_000

class MemoryDeadLetterIndex implements DeadLetterIndex {
  readonly mode = 'MEMORY'
  leftOut = 0
  readonly #maxLetters: number
  readonly #runtime: Runtime
  /** In the order in which they were added. */
  readonly #letters = new Map<string, IndexedDeadLetter>()
  readonly #byOriginal = new Map<string, Set<string>>()
  readonly #positions = new Map<string, IndexPosition>()
  readonly #triage = new Map<string, GroupTriage>()
  /** Newest first; undefined after a change. */
  #sorted: IndexedDeadLetter[] | undefined

  constructor(maxLetters: number, runtime: Runtime) {
    this.#maxLetters = maxLetters
    this.#runtime = runtime
  }

  async put(letters: readonly IndexedDeadLetter[], moves: readonly IndexMove[]): Promise<boolean> {
    const isCurrent = moves.every(({ after, ...to }) => {
      const known = this.#positions.get(partitionKey(to))
      return known === undefined || known.rule !== to.rule ? after === undefined : known.next === after
    })
    if (!isCurrent) return false
    for (const letter of letters) this.#add(letter)
    for (const { after: _, ...position } of moves) this.#positions.set(partitionKey(position), position)
    this.#makeRoom()
    return true
  }

  async positions(cluster: string, topic: string): Promise<readonly IndexPosition[]> {
    return [...this.#positions.values()].filter((one) => one.cluster === cluster && one.topic === topic)
  }

  async query(filter: DeadLetterFilter, { limit, cursor }: PageQuery): Promise<Page<IndexedDeadLetter>> {
    const selected = this.#select(filter)
    const after = cursor === undefined ? undefined : readLetterCursor(cursor)
    const start = after === undefined ? 0 : selected.findIndex((one) => compareLetters(one, after) > 0)
    const items = start < 0 ? [] : selected.slice(start, start + limit)
    const last = items.at(-1)
    return {
      items,
      next: last === undefined || start + limit >= selected.length ? null : letterCursor(last),
      total: { count: BigInt(selected.length), isExact: true },
    }
  }

  async groups(
    filter: DeadLetterFilter,
    order: FailureGroupOrder,
    { limit, cursor }: PageQuery,
  ): Promise<Page<FailureGroup>> {
    const groups = Map.groupBy(this.#select(filter), ({ group }) => group)
    const after = cursor === undefined ? undefined : readGroupCursor(cursor)
    const found = [...groups.values()]
      .map((letters) => this.#groupOf(letters))
      .map((one) => ({ one, rank: rankOf(one, order), group: one.group }))
      .toSorted(compareGroups)
    const rest = after === undefined ? found : found.filter((one) => compareGroups(one, after) > 0)
    const last = rest.length > limit ? rest[limit - 1] : undefined
    return {
      items: rest.slice(0, limit).map(({ one }) => one),
      next: last === undefined ? null : groupCursor(last),
      total: { count: BigInt(found.length), isExact: true },
    }
  }

  async groupHours(
    { bindings }: Pick<DeadLetterFilter, 'bindings'>,
    groups: readonly string[],
    fromHour: number,
  ): Promise<readonly FailureGroupHour[]> {
    const counts = new Map<string, FailureGroupHour>()
    for (const { group, deadAtMs } of this.#select({ bindings, sinceMs: fromHour * hourMs })) {
      if (!groups.includes(group)) continue
      const hour = Math.floor(deadAtMs / hourMs)
      const key = `${hour} ${group}`
      counts.set(key, { group, hour, count: (counts.get(key)?.count ?? 0n) + 1n })
    }
    return [...counts.values()]
  }

  async facets(
    filter: DeadLetterFilter,
    by: readonly DeadLetterFacet[],
  ): Promise<Partial<Record<DeadLetterFacet, DeadLetterFacetCounts>>> {
    return facetCountsOf(this.#select(filter), by)
  }

  async get(ref: DeadLetterRef): Promise<IndexedDeadLetter | undefined> {
    return this.#letters.get(refKey(ref))
  }

  async mark(
    refs: readonly DeadLetterRef[],
    from: readonly DeadLetterState[],
    to: DeadLetterState,
    operation: string | undefined,
  ): Promise<readonly DeadLetterRef[]> {
    return refs.filter((ref) => {
      const letter = this.#letters.get(refKey(ref))
      if (letter === undefined) return false
      if (letter.state === to && letter.operation === operation) return true
      if (!from.includes(letter.state)) return false
      this.#set({ ...letter, state: to, operation })
      return true
    })
  }

  async annotate(group: string, change: Parameters<DeadLetterIndex['annotate']>[1], by: string): Promise<void> {
    const known = this.#triage.get(group)
    this.#triage.set(group, {
      state: change.state ?? known?.state ?? 'OPEN',
      note: change.note === undefined ? known?.note : (change.note ?? undefined),
      by,
      atMs: change.state === undefined ? (known?.atMs ?? this.#runtime.clock.now()) : this.#runtime.clock.now(),
    })
  }

  async forget(partition: Omit<DeadLetterRef, 'offset'>, before: bigint): Promise<number> {
    const wanted = partitionKey(partition)
    return this.#delete((one) => partitionKey(one) === wanted && one.offset < before)
  }

  async reset(cluster: string, topic: string): Promise<void> {
    for (const [key, one] of this.#positions)
      if (one.cluster === cluster && one.topic === topic) this.#positions.delete(key)
    this.#delete((one) => one.cluster === cluster && one.topic === topic)
    this.leftOut = 0
  }

  #add(letter: IndexedDeadLetter): void {
    const known = this.#letters.get(refKey(letter))
    if (known !== undefined) return this.#set({ ...letter, state: known.state, operation: known.operation })
    this.#set(letter)
    const original = originalKey(letter)
    if (original === undefined) return
    const siblings = this.#byOriginal.get(original)
    if (siblings === undefined) {
      this.#byOriginal.set(original, new Set([refKey(letter)]))
      return
    }
    siblings.add(refKey(letter))
    for (const key of siblings) {
      const one = this.#letters.get(key)
      if (one?.state === 'REPLAYED' && one.replayCount < letter.replayCount)
        this.#set({ ...one, state: 'FAILED_AGAIN' })
    }
  }

  #set(letter: IndexedDeadLetter): void {
    this.#letters.set(refKey(letter), letter)
    this.#sorted = undefined
  }

  #delete(isDeleted: (letter: IndexedDeadLetter) => boolean): number {
    let deleted = 0
    for (const letter of this.#letters.values())
      if (isDeleted(letter)) {
        this.#remove(letter)
        deleted++
      }
    return deleted
  }

  #remove(letter: IndexedDeadLetter): void {
    const key = refKey(letter)
    this.#letters.delete(key)
    this.#sorted = undefined
    const original = originalKey(letter)
    const siblings = original === undefined ? undefined : this.#byOriginal.get(original)
    siblings?.delete(key)
    if (original !== undefined && siblings?.size === 0) this.#byOriginal.delete(original)
  }

  #makeRoom(): void {
    for (const letter of this.#letters.values()) {
      if (this.#letters.size <= this.#maxLetters) return
      this.#remove(letter)
      this.leftOut++
    }
  }

  #select(filter: DeadLetterFilter): readonly IndexedDeadLetter[] {
    // They are added nearly in their order, which sorts in linear time.
    this.#sorted ??= [...this.#letters.values()].toReversed().toSorted(compareLetters)
    return this.#sorted.filter((letter) => isSelectedLetter(letter, filter))
  }

  #groupOf(letters: readonly IndexedDeadLetter[]): FailureGroup {
    const [newest, oldest] = [letters[0], letters.at(-1)] as [IndexedDeadLetter, IndexedDeadLetter]
    const { group, binding, eventType, exception, message, frame, cluster, topic, partition, offset } = newest
    const triage = this.#triage.get(group)
    const count = (...states: readonly DeadLetterState[]): bigint =>
      BigInt(letters.filter(({ state }) => states.includes(state)).length)
    return {
      group,
      state: groupStateOf(triage, newest.deadAtMs),
      note: triage?.note,
      by: triage?.by,
      count: BigInt(letters.length),
      firstAtMs: oldest.deadAtMs,
      lastAtMs: newest.deadAtMs,
      binding,
      eventType,
      exception,
      message,
      frame,
      sample: { cluster, topic, partition, offset },
      replayed: count('REPLAYED', 'SUCCEEDED', 'FAILED_AGAIN'),
      failedAgain: count('FAILED_AGAIN'),
    }
  }
}

function partitionKey({ cluster, topic, partition }: Omit<DeadLetterRef, 'offset'>): string {
  return `${partition}/${topic}/${cluster}`
}

function refKey(ref: DeadLetterRef): string {
  return `${ref.offset}/${partitionKey(ref)}`
}

/** Undefined for a dead letter that does not name the record it was. */
function originalKey(letter: IndexedDeadLetter): string | undefined {
  const { cluster, consumerGroup = '', originalTopic, originalPartition, originalOffset } = letter
  if (originalOffset < 0n) return undefined
  return JSON.stringify([cluster, consumerGroup, originalTopic, originalPartition, String(originalOffset)])
}
