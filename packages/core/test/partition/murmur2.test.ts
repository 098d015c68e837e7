import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { murmur2 } from '../../src/partition/murmur2.ts'

describe('murmur2', () => {
  test.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
    ['', 275646681],
  ])("hashes %j to %i, as Kafka's own tests demand", (key, hash) => {
    expect(murmur2(Buffer.from(key))).toBe(hash)
  })

  test('gives a signed 32-bit integer for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const hash = murmur2(bytes)
        expect(hash).toBe(hash | 0)
      }),
    )
  })

  test('reads a view of a larger buffer, not what lies around it', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), fc.uint8Array(), (before, bytes, behind) => {
        const view = Buffer.concat([before, bytes, behind]).subarray(before.length, before.length + bytes.length)
        expect(murmur2(view)).toBe(murmur2(bytes))
      }),
    )
  })
})
