/** WHOLE with `npm run guarantees`; a short version of the same with `npm run check`. */
export const scale: 'WHOLE' | 'SMOKE' = process.env['MODE'] === 'guarantees' ? 'WHOLE' : 'SMOKE'

/** Prints the coverage of a long run: a number that is too small would prove nothing. */
export function report(what: string): void {
  if (scale === 'WHOLE') process.stdout.write(`${what}\n`)
}
