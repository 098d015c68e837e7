import { ArgumentError, StateError } from '../errors.ts'
import type { Runtime } from '../runtime/runtime.ts'

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const canonicalForm = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const timeLength = 10
const latestTimeMs = 2 ** 48 - 1

/** The 80 random bits are kept as four limbs of 20: four characters each, and one draw of the Random port. */
const limbSize = 2 ** 20

/** Every pair of characters, so that a limb is written with two look-ups. */
const pairOf: readonly string[] = Array.from(
  { length: 1024 },
  (_, value) => (alphabet[value >> 5] as string) + (alphabet[value & 31] as string),
)

/** Makes a new id at each call. */
export type UlidGenerator = () => string

/**
 * Makes ids that sort in the order they were made in: 48 bits of time, then 80 random bits, as 26 characters.
 *
 * Each id of one generator is greater than the one before, whatever the clock does. Within a millisecond, and while the
 * clock is behind the last id, the random bits count up by one. Should they be used up, the id takes the next
 * millisecond and fresh bits: failing instead would roll back a business transaction for want of a number. Ids of
 * different generators are ordered by time only. They are unique, not secret: do not use them as a token.
 */
export function createUlidGenerator({ clock, random }: Pick<Runtime, 'clock' | 'random'>): UlidGenerator {
  let lastMs = Number.NEGATIVE_INFINITY
  let time = ''
  const limbs = [0, 0, 0, 0]

  const startAt = (ms: number): void => {
    time = encodeTime(ms)
    lastMs = ms
    for (let index = 0; index < limbs.length; index++) limbs[index] = Math.floor(random() * limbSize)
  }

  const increment = (): void => {
    const index = limbs.findLastIndex(isNotFull)
    if (index === -1) {
      startAt(lastMs + 1)
      return
    }
    limbs[index] = (limbs[index] as number) + 1
    limbs.fill(0, index + 1)
  }

  return () => {
    const nowMs = clock.now()
    if (nowMs <= lastMs) increment()
    else startAt(nowMs)
    return limbs.reduce((id, limb) => id + encodeLimb(limb), time)
  }
}

/**
 * True for a ULID in its canonical form. Lower case is refused although Crockford's alphabet knows no case: ids are
 * compared and sorted as text.
 */
export function isUlid(text: string): boolean {
  return canonicalForm.test(text)
}

/** When an id was made, in epoch milliseconds. Ids run ahead of the clock where it was set back in between. */
export function ulidTimeMs(id: string): number {
  if (!isUlid(id)) throw new ArgumentError(`${JSON.stringify(id)} is not a ULID.`)
  let ms = 0
  for (let index = 0; index < timeLength; index++) ms = ms * 32 + alphabet.indexOf(id[index] as string)
  return ms
}

function encodeTime(ms: number): string {
  if (!Number.isInteger(ms) || ms < 0 || ms > latestTimeMs)
    throw new StateError(`An id cannot hold the time ${ms}.`, {
      hint: 'Check the clock: it has to give whole milliseconds from 1970 to the year 10889.',
    })
  const high = Math.floor(ms / 2 ** 30)
  const low = ms % 2 ** 30
  return encodeLimb(high) + (pairOf[low >>> 20] as string) + encodeLimb(low % limbSize)
}

function encodeLimb(limb: number): string {
  return (pairOf[limb >>> 10] as string) + (pairOf[limb & 1023] as string)
}

function isNotFull(limb: number): boolean {
  return limb < limbSize - 1
}
