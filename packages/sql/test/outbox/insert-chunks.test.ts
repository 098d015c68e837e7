import { describe, expect, test } from 'vitest'
import { insertChunks } from '../../src/outbox/insert-chunks.ts'
import type { StorableEvent } from '../../src/outbox/row/storable-event.ts'

function row(length: number): StorableEvent {
  return { payload: 'x'.repeat(length), headers: null } as StorableEvent
}

describe('rows to insert', () => {
  test.each([
    ['nothing', [], []],
    ['all that fit', Array.from({ length: 1_000 }, () => 1), [1_000]],
    ['no more than a thousand', Array.from({ length: 2_001 }, () => 1), [1_000, 1_000, 1]],
    ['no more than two million characters', [1_000_000, 1_000_000, 1, 2_000_000, 1], [2, 1, 1, 1]],
    ['one that is larger by itself', [1, 9_000_000, 1], [1, 1, 1]],
  ])('go into statements of %s', (_, lengths, sizes) => {
    const rows = lengths.map(row)
    const chunks = [...insertChunks(rows)]
    expect(chunks.map(({ length }) => length)).toEqual(sizes)
    expect(chunks.flat()).toEqual(rows)
  })
})
