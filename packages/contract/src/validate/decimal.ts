/** A number as its decimal digits say it: `units * 10 ** -scale`. */
export interface Decimal {
  readonly units: bigint
  readonly scale: number
}

/** Returns a number as a decimal: 0.3 is three tenths, not the nearest binary fraction. */
export function toDecimal(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = String(value).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const scale = fraction.length - Number(exponent)
  const units = BigInt(whole + fraction)
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale }
}

/** Tells whether a number is a multiple of another, in decimal arithmetic. */
export function isMultipleOf(value: number, step: number): boolean {
  const [units, stepUnits] = inOneScale(value, step)
  return stepUnits !== 0n && units % stepUnits === 0n
}

/** Returns the least common multiple of two positive numbers. */
export function leastMultiple(one: number, other: number): number {
  const [first, second, scale] = inOneScale(one, other)
  let [a, b] = [first, second]
  while (b !== 0n) [a, b] = [b, a % b]
  return Number(`${(first / a) * second}e-${scale}`)
}

/** Returns `step * count` without the error of binary fractions. */
export function timesDecimal(step: number, count: number): number {
  const { units, scale } = toDecimal(step)
  return Number(`${units * BigInt(count)}e-${scale}`)
}

function inOneScale(one: number, other: number): [bigint, bigint, number] {
  const [first, second] = [toDecimal(one), toDecimal(other)]
  const scale = Math.max(first.scale, second.scale)
  return [first.units * 10n ** BigInt(scale - first.scale), second.units * 10n ** BigInt(scale - second.scale), scale]
}
