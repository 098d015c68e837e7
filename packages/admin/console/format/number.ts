/** How numbers are written. 64-bit numbers stay texts from end to end. */

const thin = '\u2009'

/** Groups digits by thin spaces: `1 204`. Takes decimal digits of any length, and whole numbers. */
export function grouped(value: string | number | bigint): string {
  const text = typeof value === 'number' ? String(Math.round(value)) : String(value)
  const [, sign = '', digits = text] = /^(-?)(\d+)$/.exec(text) ?? []
  return `${sign}${digits.replaceAll(/\B(?=(?:\d{3})+$)/g, thin)}`
}

/** Writes a rate: `412/s`, `3.1/s`, `0/s`. */
export function rate(perSecond: number | null | undefined, unit = 's'): string {
  return perSecond === null || perSecond === undefined ? '–' : `${compact(perSecond)}/${unit}`
}

/** Writes a figure with at most three digits of meaning: `0.04`, `3.1`, `412`, `12 400`. */
export function compact(value: number): string {
  const height = Math.abs(value)
  if (height === 0) return '0'
  if (height >= 100) return grouped(value)
  const digits = height >= 10 ? 0 : height >= 1 ? 1 : height >= 0.01 ? 2 : 3
  const text = value.toFixed(digits)
  return digits === 0 ? text : text.replace(/\.?0+$/, '')
}

/** Writes a share: `9 %`, `0.4 %`. */
export function percent(share: number): string {
  const value = share * 100
  return `${value > 0 && value < 1 ? value.toFixed(1) : Math.round(value)}${thin}%`
}

const units = ['B', 'KiB', 'MiB', 'GiB'] as const

/** Writes a size: `412 B`, `3.1 MiB`. */
export function size(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 ? grouped(value) : value.toFixed(value < 10 ? 1 : 0)}${thin}${units[unit]}`
}

/** Compares decimal digits by their value: `9` before `10`. */
export function compareDigits(one: string, other: string): number {
  return one.length - other.length || (one < other ? -1 : one > other ? 1 : 0)
}

/** Returns `1 record` or `2 records`. */
export function countOf(count: string | number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${String(count) === '1' ? one : many}`
}
