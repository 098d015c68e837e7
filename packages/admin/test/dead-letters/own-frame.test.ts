import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ownFrameOf } from '../../src/dead-letters/own-frame.ts'

describe('the first own frame', () => {
  test('of a stack of Node is the first file outside of Node and node_modules, from src on', () => {
    const stack = [
      'HttpError: 502 from shipping-api',
      '    at node:internal/process/task_queues:105:5',
      '    at request (/srv/shop/node_modules/undici/lib/api.js:12:3)',
      '    at async ship (/srv/shop/src/shipping.ts:31:9)',
      '    at /srv/shop/src/index.ts:4:1',
    ].join('\n')
    expect(ownFrameOf(stack)).toBe('src/shipping.ts')
  })

  test.each([
    ['    at ship (file:///srv/shop/dist/shipping.js:1:2)', 'dist/shipping.js'],
    ['    at ship (C:\\shop\\src\\shipping.ts:1:2)', 'src/shipping.ts'],
    ['    at /srv/a/src/b/src/c.ts:1:2', 'src/c.ts'],
    ['    at ship (/opt/shipping.mjs?v=3:1:2)', '/opt/shipping.mjs'],
    ['\tat com.acme.shop.Shipping.ship(Shipping.java:42)', 'com.acme.shop.Shipping.ship'],
    ['\tat app//com.acme.shop.Shipping.ship(Shipping.java:42)', 'com.acme.shop.Shipping.ship'],
  ])('of "%s" is "%s"', (line, frame) => {
    expect(ownFrameOf(`Error: x\n${line}`)).toBe(frame)
  })

  test.each([
    'Error: x',
    'Error: x\n    at <anonymous>\n    at node:fs:1:2',
    'E\n\tat java.base/java.util.ArrayList.get(ArrayList.java:4)\n\tat org.springframework.kafka.X.y(X.java:3)',
  ])('of a stack without own code is undefined', (stack) => {
    expect(ownFrameOf(stack)).toBeUndefined()
  })

  test('does not depend on line and column', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (line, column) => {
        expect(ownFrameOf(`E\n    at ship (/srv/src/shipping.ts:${line}:${column})`)).toBe('src/shipping.ts')
      }),
    )
  })

  test('is found or not found in any text', () => {
    fc.assert(fc.property(fc.string(), (text) => ['string', 'undefined'].includes(typeof ownFrameOf(text))))
  })

  test.each([
    ['brackets', `    at ${'('.repeat(1_000_000)}`],
    ['colons', `    at ${'(a:1'.repeat(250_000)}`],
    ['names', `    at ${'a.'.repeat(500_000)}(`],
    ['slashes', `    at ${'a/'.repeat(500_000)}(`],
    ['spaces', ' '.repeat(1_000_000)],
  ])('of a line of a million %s is none', (_what, stack) => {
    expect(ownFrameOf(stack)).toBeUndefined()
  })

  test('behind a line that is too long is found', () => {
    expect(ownFrameOf(`HttpError: ${'('.repeat(5_000)}\n    at ship (/srv/shop/src/shipping.ts:31:9)`)).toBe(
      'src/shipping.ts',
    )
  })
})
