import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FrameError, FrameReader } from '../../../src/wire/broker/frame-reader.ts'

function frame(body: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeInt32BE(body.length)
  return Buffer.concat([head, body])
}

describe('the frame reader', () => {
  test('gives the same frames however the stream is cut', () => {
    const bodies = fc.array(fc.uint8Array({ minLength: 4, maxLength: 60 }).map((array) => Buffer.from(array)))
    fc.assert(
      fc.property(bodies, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (sent, cuts) => {
        const stream = Buffer.concat(sent.map(frame))
        const reader = new FrameReader(100)
        const got: Buffer[] = []
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const size = cuts[turn % cuts.length] as number
          got.push(...reader.push(stream.subarray(at, at + size)))
          at += size
        }
        expect(got.map((body) => body.toString('hex'))).toEqual(sent.map((body) => body.toString('hex')))
      }),
      { numRuns: 500 },
    )
  })

  test('does not copy a frame that came in one piece', () => {
    const chunk = frame(Buffer.alloc(50, 1))
    expect(new FrameReader(100).push(chunk)[0]?.buffer).toBe(chunk.buffer)
  })

  test.each([101, 2 ** 31 - 1, 3, 0, -1, -(2 ** 31)])('refuses a length of %d', (length) => {
    const head = Buffer.alloc(4)
    head.writeInt32BE(length)
    expect(() => new FrameReader(100).push(head)).toThrow(FrameError)
  })
})
