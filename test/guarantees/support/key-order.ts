/** A step of a process as far as key order is concerned, or its kill. */
export interface KeyStep {
  readonly pid: number
  /** START begins it; OK and DEAD end it, FAIL ends an attempt; KILLED ends everything of the process. */
  readonly step: string
  readonly value: string
  readonly key: string
}

/**
 * Returns violations of the key order: a value started before an earlier one of its key was handled or declared dead,
 * or while another of its key was being handled.
 *
 * @param killed - processes that were killed, where the lines do not say when: their started values may never have
 * ended
 */
export function disorder(
  lines: readonly KeyStep[],
  written: readonly { readonly key: string; readonly value: string }[],
  killed: readonly number[],
): string[] {
  const before = new Map<string, string>()
  for (const ofKey of Map.groupBy(written, ({ key }) => key).values())
    for (const [index, { value }] of ofKey.entries()) if (index > 0) before.set(value, ofKey[index - 1]?.value ?? '')
  const over = new Set<string>()
  const running = new Map<string, KeyStep>()
  return lines.flatMap((line) => {
    const { step, value, key, pid } = line
    if (step === 'KILLED') for (const [one, beside] of running) if (beside.pid === pid) running.delete(one)
    if (step === 'OK' || step === 'DEAD') over.add(value)
    if (step !== 'START') {
      if (running.get(key)?.pid === pid) running.delete(key)
      return []
    }
    const beside = running.get(key)
    running.set(key, line)
    const earlier = before.get(value)
    const early = earlier === undefined || over.has(earlier) ? [] : [`${value} before ${earlier}`]
    return beside === undefined || killed.includes(beside.pid)
      ? early
      : [...early, `${value} in ${pid} beside ${beside.value} in ${beside.pid}`]
  })
}
