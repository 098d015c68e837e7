/** WHOLE with `npm run guarantees`; a smoke of the same with `npm run check`, which must stay short. */
export const scale: 'WHOLE' | 'SMOKE' = process.env['MODE'] === 'guarantees' ? 'WHOLE' : 'SMOKE'

/** Says in a long run what was seen: a number that is too small would prove nothing. */
export function report(what: string): void {
  if (scale === 'WHOLE') process.stdout.write(`${what}\n`)
}
