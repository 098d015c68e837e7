import type { OriginalPlace } from '@waybill/connector/internal'
import type { Court } from '../world/court.ts'

/**
 * A table of effects. Each successful handler marks the place of its original in one transaction with its effect. The
 * engine documents this mark as sufficient against duplicates; so no event has two effects, and no two events share a
 * mark (I9).
 */
export class EffectStore {
  readonly #court: Pick<Court<string>, 'violate'>
  /** The event of each mark, and the mark of each event. */
  readonly #events = new Map<string, string>()
  readonly #marks = new Map<string, string>()

  constructor(court: Pick<Court<string>, 'violate'>) {
    this.#court = court
  }

  /** Commits a handler's effect for a group, unless its mark exists. */
  commit(groupId: string, event: string, { topic, partition, offset }: OriginalPlace): 'DONE' | 'DUPLICATE' {
    const mark = `${groupId} ${topic}-${partition}@${offset}`
    const marked = this.#events.get(mark)
    if (marked !== undefined && marked !== event)
      this.#court.violate('I9', `${event} is taken for ${marked}: both have the mark ${mark}`)
    if (marked !== undefined) return 'DUPLICATE'
    const former = this.#marks.get(`${groupId} ${event}`)
    if (former !== undefined) this.#court.violate('I9', `${event} has two effects: as ${former} and as ${mark}`)
    this.#events.set(mark, event)
    this.#marks.set(`${groupId} ${event}`, mark)
    return 'DONE'
  }
}
