import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { normalizeMessage } from '../../src/dead-letters/normalize-message.ts'

describe('a normalized message', () => {
  test.each([
    ['502 from shipping-api', '# from shipping-api'],
    ['order o-17 has 3 lines, 12345678 expected', 'order o-# has # lines, # expected'],
    ['user 3f2504e0-4f89-11d3-9a0c-0305e82c3301 is unknown', 'user <id> is unknown'],
    ['event 01KD0ZW3V8Q2M4N6P8R0T2V4W6 failed', 'event <id> failed'],
    ['commit 9fceb02d0ae598e95dc970b74767f19372d61af8', 'commit <id>'],
    ['pointer 0x7ffe and deadbeef01', 'pointer <id> and <id>'],
    ['no field "total" in \'{"a":1}\'', 'no field <text> in <text>'],
    ["can't read the user's cart", "can't read the user's cart"],
    ['GET https://api.example.com:8080/orders/17?x=y failed', 'GET https://api.example.com:#/<path> failed'],
    ['connect ECONNREFUSED 10.0.0.17:5432', 'connect ECONNREFUSED #.#.#.#:#'],
    ['  two\n\tlines  ', 'two lines'],
  ])('of "%s" is "%s"', (message, normalized) => {
    expect(normalizeMessage(message)).toBe(normalized)
  })

  test('is at most 200 characters long', () => {
    expect(normalizeMessage('word '.repeat(100_000)).length).toBeLessThanOrEqual(200)
  })

  test('is the same whatever the numbers and ids', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.uuid(), fc.uuid(), (one, other, id, otherId) => {
        expect(normalizeMessage(`order ${one} of ${id} failed`)).toBe(
          normalizeMessage(`order ${other} of ${otherId} failed`),
        )
      }),
    )
  })

  test('holds no digit', () => {
    fc.assert(fc.property(fc.string(), (message) => !/\d/.test(normalizeMessage(message))))
  })
})
