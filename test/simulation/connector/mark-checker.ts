/**
 * Checks every handler call and every mark of a binding that deduplicates (I9).
 *
 * | with a store | with an inbox |
 * |---|---|
 * | a call starts after a lookup that found no mark, and a lookup covers one call | a call has the open transaction of
 * its key |
 * | a mark is written after a call of its key succeeded in time | a mark is committed with one effect |
 * | while a record stays in its process it is handled once | |
 *
 * A record settled as a duplicate has a mark, and with a store one settled as handled has one too: CommitChecker
 * queries them here.
 */

import type { KafkaRecord } from '@waybill/kafka'
import type { BindingPlan } from './binding-plan.ts'
import { markKeyOf } from './deduplication-plan.ts'
import { type Evidence, type Original, placeName } from './evidence.ts'
import type { Ground } from './ground.ts'
import type { Call, HandlerProcess, MarkWatch } from './handler-journal.ts'
import type { MarkTx } from './mark-tx.ts'

/** The history of a mark. */
interface MarkStory {
  /** It is written. */
  isMarked: boolean
  /** A call of its key has succeeded in time. */
  isHandled: boolean
  /** Requests about it, and how many of them failed. */
  asks: number
  failures: number
}

/** Dependencies of the checker. */
type Known = Ground & { readonly evidence: Evidence; now(): number }

/** See the file's comment. */
export class MarkChecker implements MarkWatch {
  readonly #world: Known
  /** By group and key. */
  readonly #stories = new Map<string, MarkStory>()
  /** Lookups that found no mark and were not used for a call, by process and mark. */
  readonly #looks = new Map<string, number>()
  /** Time of a process's last lookup of a mark before a call. */
  readonly #askedAt = new Map<string, number>()
  /** Handled records in the memory of their processes. */
  readonly #handled = new WeakSet<KafkaRecord>()

  constructor(world: Known) {
    this.#world = world
  }

  /** Returns when the delivery of a call began: with a lookup, the call starts later. */
  begunAt(call: Call): number {
    const mark = this.#markOf(call)
    const askedAt = mark === undefined ? undefined : this.#askedAt.get(`${call.process.name} ${mark}`)
    return askedAt ?? this.#world.now()
  }

  /** Returns true when one of its marks, or that of one replay, lets a binding skip an original. */
  mayPassOver(binding: BindingPlan, original: Original, replayCount?: number): boolean {
    const { failureProfile, handlerTimeoutMs } = binding.options
    return this.#storiesOf(binding, original, replayCount).some(({ isMarked, asks, failures }) => {
      if (isMarked || failureProfile !== 'BEST_EFFORT_SKIP') return isMarked
      return failures > 0 || (handlerTimeoutMs !== false && asks > 0)
    })
  }

  /** Returns true when a success counts: with a store it has its mark. */
  mayBeDone(binding: BindingPlan, original: Original, replayCount: number): boolean {
    if (binding.deduplicate?.kind !== 'STORE') return true
    return this.#storiesOf(binding, original, replayCount).some(({ isMarked }) => isMarked)
  }

  /** Returns the attempts at an original that may have ended without a call of its handler. */
  attemptsWithoutCall(binding: BindingPlan, original: Original): number {
    return this.#storiesOf(binding, original).reduce((sum, { asks }) => sum + asks, 0)
  }

  /**
   * Records that a process looks up or writes a mark. Only a lookup precedes a call: another record may have the same
   * mark.
   */
  asked({ name }: HandlerProcess, mark: string, isBeforeCall: boolean): void {
    this.#story(mark).asks++
    if (isBeforeCall) this.#askedAt.set(`${name} ${mark}`, this.#world.now())
  }

  /** Records that a lookup found no mark. */
  foundNone({ name }: HandlerProcess, mark: string): void {
    const look = `${name} ${mark}`
    this.#looks.set(look, (this.#looks.get(look) ?? 0) + 1)
  }

  /** Records that a request has failed, or has an unknown outcome. */
  failed(mark: string): void {
    this.#story(mark).failures++
  }

  /** Records the start of a call. */
  started(call: Call): void {
    const { binding, tx } = call
    const mark = this.#markOf(call)
    if (mark === undefined) return
    if (binding.deduplicate?.kind === 'INBOX') {
      if (tx === undefined || tx.isOver || tx.mark !== mark)
        this.#violate(
          'C-78',
          call,
          `its transaction is ${tx && (tx.isOver ? 'over' : `of ${tx.mark}`)}, not of ${mark}`,
        )
      return
    }
    if (this.#handled.has(call.record)) this.#violate('S0-203', call, 'it was handled here, and needs at most its mark')
    const look = `${call.process.name} ${mark}`
    const looks = this.#looks.get(look) ?? 0
    if (looks === 0) this.#violate('C-17', call, `it starts without a lookup of ${mark}`)
    // A batch is looked up once, and its records may be passed to several calls.
    else if (!binding.handlesBatches) this.#looks.set(look, looks - 1)
  }

  /** Records a successful call. */
  succeeded(call: Call): void {
    const mark = this.#markOf(call)
    if (mark === undefined || call.signal.aborted) return
    const { court } = this.#world
    const story = this.#story(mark)
    if (call.tx === undefined) {
      if (story.isHandled) court.reach('store: an effect is repeated, for want of a mark')
      this.#handled.add(call.record)
    }
    if (this.#replayCountOf(call.record) > 0) court.reach('deduplicate: a replay is handled under its own mark')
    story.isHandled = true
  }

  /** Records that a store writes a mark. */
  marked(mark: string): void {
    const story = this.#story(mark)
    if (!story.isHandled) this.#world.court.violate('S0-203', `${mark} is marked without a successful call`)
    story.isMarked = true
  }

  /** Records that an inbox commits a mark and its effects. */
  committed({ mark, effects }: MarkTx): void {
    if (effects.length !== 1) this.#world.court.violate('C-78', `${mark} is marked with ${effects.length} effects`)
    this.#story(mark).isMarked = true
    for (const effect of effects) effect()
  }

  /** Checks the records of one batch handler call. */
  checkBatch(binding: BindingPlan, records: readonly KafkaRecord[]): void {
    const marks = records.flatMap((record) => this.#markOf({ binding, record }) ?? [])
    if (new Set(marks).size < marks.length)
      this.#world.court.violate('C-17', `one call is given two records of one key: ${marks.join(' ')}`)
  }

  #violate(invariant: string, { process, binding, id, record }: Call, what: string): void {
    this.#world.court.violate(
      invariant,
      `${process.name} ${binding.name} starts ${id} of ${placeName(record)}: ${what}`,
    )
  }

  #story(mark: string): MarkStory {
    let story = this.#stories.get(mark)
    if (story === undefined) {
      story = { isMarked: false, isHandled: false, asks: 0, failures: 0 }
      this.#stories.set(mark, story)
    }
    return story
  }

  /** Returns the histories of all its replays, or of one. */
  #storiesOf(binding: BindingPlan, original: Original, replayCount?: number): MarkStory[] {
    const { deduplicate, groupId } = binding
    if (deduplicate === undefined) return []
    const counts = replayCount === undefined ? [0, ...(original.fates.get(groupId)?.replays ?? [])] : [replayCount]
    const marks = counts.map(
      (count) => `${groupId} ${markKeyOf(deduplicate, original.plan.id, original.record, count)}`,
    )
    return [...new Set(marks)].flatMap((mark) => this.#stories.get(mark) ?? [])
  }

  /** Returns the mark of a call's record; undefined where the handler tolerates duplicates. */
  #markOf({ binding, record }: { readonly binding: BindingPlan; readonly record: KafkaRecord }): string | undefined {
    const { deduplicate, groupId } = binding
    const original = this.#world.evidence.originals.get(record.headers.text('id') ?? '')
    if (deduplicate === undefined || original === undefined) return undefined
    const key = markKeyOf(deduplicate, original.plan.id, original.record, this.#replayCountOf(record))
    return `${groupId} ${key}`
  }

  #replayCountOf(record: KafkaRecord): number {
    return this.#world.evidence.derivedAt(placeName(record))?.replayCount ?? 0
  }
}
