/** Marks for tests: a store and an inbox that fail when they are told to. */

import type { IdempotencyStore, Inbox } from '@waybill/core'

/** Keeps marks, and remembers what it was asked. */
export class TestStore implements IdempotencyStore {
  readonly marked = new Set<string>()
  readonly calls: string[] = []
  /** How often the next calls of each kind fail. */
  readonly failures = { seen: 0, mark: 0 }

  async seen(consumer: string, key: string): Promise<boolean> {
    this.#note('seen', consumer, key)
    return this.marked.has(`${consumer}/${key}`)
  }

  async mark(consumer: string, key: string): Promise<void> {
    this.#note('mark', consumer, key)
    this.marked.add(`${consumer}/${key}`)
  }

  #note(call: 'seen' | 'mark', consumer: string, key: string): void {
    this.calls.push(`${call} ${consumer}/${key}`)
    if (this.failures[call]-- > 0) throw new Error(`the store does not answer ${call}`)
  }
}

/** What a handler writes with. */
export interface TestTx {
  readonly effects: string[]
}

/** Mark and effects commit together, or neither. */
export class TestInbox implements Inbox<TestTx> {
  readonly marked = new Set<string>()
  readonly effects: string[] = []
  /** How often the next COMMITs have no answer: each is carried out none the less, or not. */
  readonly unanswered = { committed: 0, lost: 0 }

  async run(
    consumer: string,
    key: string,
    effect: (tx: TestTx) => Promise<void>,
    former?: string,
  ): Promise<'DONE' | 'DUPLICATE'> {
    const mark = `${consumer}/${key}`
    if (this.marked.has(mark) || this.marked.has(`${consumer}/${former}`)) return 'DUPLICATE'
    const tx: TestTx = { effects: [] }
    await effect(tx)
    if (this.unanswered.lost-- > 0) throw new Error('no answer to COMMIT')
    this.marked.add(mark)
    this.effects.push(...tx.effects)
    if (this.unanswered.committed-- > 0) throw new Error('no answer to COMMIT')
    return 'DONE'
  }
}
