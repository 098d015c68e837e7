import { nearest } from '@waybill/core/option'

/** Returns the problem with an unknown name: `names no cluster, got "defualt"; did you mean default?` */
export function unknownName(what: string, name: string, known: readonly string[]): string {
  return `names no ${what}, got ${JSON.stringify(name)}; ${knownNames(name, known)}`
}

/** Returns the probably intended name, or all known names. */
export function knownNames(name: string, known: readonly string[]): string {
  const meant = nearest(name, known)
  return meant === undefined ? `known are ${known.join(', ') || 'none'}` : `did you mean ${meant}?`
}
