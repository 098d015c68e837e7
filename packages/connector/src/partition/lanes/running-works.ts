import type { Work } from '../../delivery/work.ts'

/**
 * The running records of a partition, in the order of their starts. Most lanes run one record at a time, which needs no
 * set: adding to one and deleting from it costs more than the handler call between them.
 */
export class RunningWorks implements Iterable<Work> {
  #first: Work | undefined
  readonly #others = new Set<Work>()

  get size(): number {
    return this.#first === undefined ? 0 : 1 + this.#others.size
  }

  add(work: Work): void {
    if (this.#first === undefined) this.#first = work
    else this.#others.add(work)
  }

  delete(work: Work): void {
    if (work !== this.#first) this.#others.delete(work)
    else if (this.#others.size === 0) this.#first = undefined
    else {
      const [next] = this.#others
      this.#first = next
      if (next !== undefined) this.#others.delete(next)
    }
  }

  *[Symbol.iterator](): IterableIterator<Work> {
    if (this.#first === undefined) return
    yield this.#first
    yield* this.#others
  }
}
