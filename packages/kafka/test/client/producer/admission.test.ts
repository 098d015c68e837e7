import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Admission } from '../../../src/client/producer/admission.ts'
import { PendingRecord } from '../../../src/client/producer/pending-record.ts'

function record(valueBytes: number, sentAt: number): PendingRecord {
  return new PendingRecord({ topic: 't', key: null, value: Buffer.alloc(valueBytes) }, 0, sentAt, sentAt)
}

describe('admission to the buffer', () => {
  test('lets records in by the order they came and never above the bound', () => {
    const maxBytes = 5_000
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.nat(4_000), fc.constant('RELEASE' as const)), { maxLength: 100 }), (steps) => {
        const admission = new Admission(maxBytes)
        const inside: PendingRecord[] = []
        let nextInside = 0
        for (const [time, step] of steps.entries()) {
          if (step === 'RELEASE') {
            const left = inside.shift()
            if (left !== undefined) admission.release(left)
            inside.push(...admission.next())
          } else {
            const one = record(step, time)
            if (admission.admit(one)) inside.push(one)
          }
          const bytes = inside.reduce((sum, one) => sum + one.bytes, 0)
          expect(bytes).toBeLessThanOrEqual(maxBytes)
          for (const one of inside.slice(inside.findIndex(({ sentAt }) => sentAt >= nextInside))) {
            expect(one.sentAt).toBeGreaterThanOrEqual(nextInside)
            nextInside = one.sentAt
          }
        }
        while (inside.length > 0) {
          for (const one of inside.splice(0)) admission.release(one)
          inside.push(...admission.next())
        }
        expect(admission.isFull).toBe(false)
      }),
    )
  })

  test('a small record does not overtake a large one that waits', () => {
    const admission = new Admission(2_000)
    const first = record(1_000, 1)
    expect(admission.admit(first)).toBe(true)
    const large = record(1_500, 2)
    const small = record(1, 3)
    expect(admission.admit(large)).toBe(false)
    expect(admission.admit(small)).toBe(false)
    expect(admission.next()).toEqual([])
    admission.release(first)
    expect(admission.next()).toEqual([large])
  })

  test('who has waited too long is taken away', () => {
    const admission = new Admission(1)
    admission.admit(record(1, 0))
    const waiting = [record(1, 1), record(1, 2), record(1, 3)]
    for (const one of waiting) admission.admit(one)
    expect(admission.withdraw(2)).toEqual(waiting.slice(0, 2))
    expect(admission.first).toBe(waiting[2])
    expect(admission.withdraw()).toEqual([waiting[2]])
    expect(admission.isFull).toBe(false)
  })
})
