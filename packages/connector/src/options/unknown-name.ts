import { nearest } from '@waybill/core/option'

/** What is wrong with a name that nothing has: `names no cluster, got "defualt"; did you mean default?` */
export function unknownName(what: string, name: string, known: readonly string[]): string {
  return `names no ${what}, got ${JSON.stringify(name)}; ${knownNames(name, known)}`
}

/** What was probably meant, or everything that could be. */
export function knownNames(name: string, known: readonly string[]): string {
  const meant = nearest(name, known)
  return meant === undefined ? `known are ${known.join(', ') || 'none'}` : `did you mean ${meant}?`
}
