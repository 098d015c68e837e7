import { ArgumentError, type Clock, createUlidGenerator, StateError, systemRuntime } from '@waybill/core'
import { createSeededRandom, isUlid, type Random, ulidTimeMs } from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import fc from 'fast-check'
import { decodeTime, isValid, monotonicFactory } from 'ulid'
import { describe, expect, test } from 'vitest'

const latestTimeMs = 2 ** 48 - 1
const times = fc.integer({ min: 1, max: latestTimeMs })

/** Returns a clock that reports the given times one after the other, then the last one permanently. */
function clockTelling(...tellMs: number[]): Clock {
  let lastMs = Number.NaN
  return {
    now() {
      lastMs = tellMs.shift() ?? lastMs
      return lastMs
    },
    monotonic: () => 0,
  }
}

/**
 * Returns draws that give the same 16 characters to the package `ulid`, which takes one per character, the last first.
 */
function drawsPerCharacter(random: Random): Random {
  let characters: number[] = []
  return () => {
    if (characters.length === 0)
      characters = [1, 2, 3, 4].flatMap(() => {
        const limb = Math.floor(random() * 2 ** 20)
        return [limb >> 15, (limb >> 10) & 31, (limb >> 5) & 31, limb & 31]
      })
    return (characters.pop() as number) / 32
  }
}

async function idsOfSeed(seed: number): Promise<string[]> {
  const runtime = createVirtualRuntime(seed)
  const generate = createUlidGenerator(runtime)
  const first = generate()
  await runtime.advance(5)
  return [first, generate(), generate()]
}

describe('a ULID generator', () => {
  test('gives exactly the ids of the package ulid for any clock and any draws', () => {
    fc.assert(
      fc.property(fc.integer(), fc.array(times, { minLength: 1 }), fc.nat(3), (seed, tellMs, repeats) => {
        const readings = tellMs.flatMap((ms) => Array.from({ length: repeats + 1 }, () => ms))
        const generate = createUlidGenerator({ clock: clockTelling(...readings), random: createSeededRandom(seed) })
        const oracle = monotonicFactory(drawsPerCharacter(createSeededRandom(seed)))
        for (const reading of readings) expect(generate()).toBe(oracle(reading))
      }),
    )
  })

  test('gives 100,000 ids that strictly rise, on the clock of this machine', () => {
    const generate = createUlidGenerator(systemRuntime)
    let last = ''
    for (let made = 0; made < 100_000; made++) {
      const id = generate()
      if (id <= last) throw new Error(`${id} follows ${last}`)
      last = id
    }
    expect(isUlid(last)).toBe(true)
  })

  test('gives ids that strictly rise whatever the clock says', () => {
    fc.assert(
      fc.property(fc.integer(), fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 2 }), (seed, tellMs) => {
        const generate = createUlidGenerator({ clock: clockTelling(...tellMs), random: createSeededRandom(seed) })
        const ids = tellMs.map(generate)
        expect(ids).toEqual([...new Set(ids)].toSorted())
      }),
    )
  })

  test('counts up by one within a millisecond', () => {
    const draws = [0, 0, 0, 2 ** 20 - 2]
    const generate = createUlidGenerator({ clock: clockTelling(0), random: () => (draws.shift() as number) / 2 ** 20 })

    expect(generate()).toBe('0000000000000000000000ZZZY')
    expect(generate()).toBe('0000000000000000000000ZZZZ')
    expect(generate()).toBe('00000000000000000000010000')
  })

  test('carries through full bits as the package ulid does', () => {
    const limb = fc.constantFrom(0, 1, 2 ** 20 - 2, 2 ** 20 - 1)
    const start = fc.tuple(limb, limb, limb, limb).filter((limbs) => limbs.some((value) => value < 2 ** 20 - 2))
    fc.assert(
      fc.property(start, (limbs) => {
        const drawing = (): Random => {
          const left = limbs.map((value) => value / 2 ** 20)
          return () => left.shift() as number
        }
        const generate = createUlidGenerator({ clock: clockTelling(1), random: drawing() })
        const oracle = monotonicFactory(drawsPerCharacter(drawing()))
        for (let made = 0; made < 4; made++) expect(generate()).toBe(oracle(1))
      }),
    )
  })

  test('keeps the time of the last id while the clock is behind it, and follows the clock again later', () => {
    const generate = createUlidGenerator({ clock: clockTelling(1000, 400, 999, 1001), random: createSeededRandom(1) })
    expect([generate(), generate(), generate(), generate()].map(ulidTimeMs)).toEqual([1000, 1000, 1000, 1001])
  })

  test('takes the next millisecond and fresh bits once the random bits are used up', () => {
    const draws = [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5].map((draw) => Math.min(draw, 1 - 2 ** -20))
    const generate = createUlidGenerator({ clock: clockTelling(41, 41, 41, 42), random: () => draws.shift() as number })

    const ids = [generate(), generate(), generate(), generate()]

    expect(ids).toEqual([
      '0000000019ZZZZZZZZZZZZZZZZ',
      '000000001AG000G000G000G000',
      '000000001AG000G000G000G001',
      '000000001AG000G000G000G002',
    ])
  })

  test('refuses to start again from the beginning after the very last id', () => {
    const generate = createUlidGenerator({ clock: clockTelling(latestTimeMs), random: () => 1 - 2 ** -20 })
    expect(generate()).toBe('7ZZZZZZZZZZZZZZZZZZZZZZZZZ')
    expect(generate).toThrow(StateError)
    expect(generate).toThrow(StateError)
  })

  test('holds the first and the last time that 48 bits can', () => {
    const random = createSeededRandom(1)
    expect(createUlidGenerator({ clock: clockTelling(0), random })()).toMatch(/^0000000000/)
    expect(createUlidGenerator({ clock: clockTelling(latestTimeMs), random })()).toMatch(/^7ZZZZZZZZZ/)
  })

  test.each([-1, 2 ** 48, 0.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses a clock that says %d', (ms) => {
    expect(() => createUlidGenerator({ clock: clockTelling(ms), random: () => 0 })()).toThrow(StateError)
  })

  test('continues with greater ids after an impossible clock reading', () => {
    const clock = clockTelling(7, Number.NaN, 7)
    const generate = createUlidGenerator({ clock, random: createSeededRandom(1) })
    const first = generate()
    expect(generate).toThrow(StateError)
    expect(generate() > first).toBe(true)
  })

  test('gives the same ids for the same seed on virtual time', async () => {
    expect(await idsOfSeed(7)).toEqual(await idsOfSeed(7))
    expect(await idsOfSeed(7)).not.toEqual(await idsOfSeed(8))
  })
})

describe('the time of a ULID', () => {
  test('is the time of its making, as the package ulid reads it', () => {
    fc.assert(
      fc.property(times, fc.integer(), (ms, seed) => {
        const id = createUlidGenerator({ clock: clockTelling(ms), random: createSeededRandom(seed) })()
        expect(ulidTimeMs(id)).toBe(ms)
        expect(decodeTime(id)).toBe(ms)
      }),
    )
  })

  test('is refused for what is no ULID', () => {
    expect(() => ulidTimeMs('not an id')).toThrow(ArgumentError)
    expect(() => ulidTimeMs('8ZZZZZZZZZZZZZZZZZZZZZZZZZ')).toThrow('"8ZZZZZZZZZZZZZZZZZZZZZZZZZ" is not a ULID')
  })
})

describe('a text is a ULID', () => {
  test('for everything a generator makes, and the package ulid agrees', () => {
    fc.assert(
      fc.property(times, fc.integer(), (ms, seed) => {
        const id = createUlidGenerator({ clock: clockTelling(ms), random: createSeededRandom(seed) })()
        expect([isUlid(id), isValid(id)]).toEqual([true, true])
      }),
    )
  })

  test.each([
    ['too short', '01ARZ3NDEKTSV4RRFFQ69G5FA'],
    ['too long', '01ARZ3NDEKTSV4RRFFQ69G5FAVV'],
    ['a letter the alphabet leaves out', '01ARZ3NDEKTSV4RRFFQ69G5FAI'],
    ['a time of more than 48 bits', '81ARZ3NDEKTSV4RRFFQ69G5FAV'],
    ['lower case, which sorts elsewhere', '01arz3ndektsv4rrffq69g5fav'],
    ['a line end behind it', '01ARZ3NDEKTSV4RRFFQ69G5FAV\n'],
    ['empty', ''],
  ])('not when it is %s', (_, text) => {
    expect(isUlid(text)).toBe(false)
  })
})
