import { openSync, readFileSync, writeSync } from 'node:fs'

/** Adds lines to a file that several processes write; what is added is there when the writer is killed right after. */
export function openJournal(path: string): (line: object) => void {
  const file = openSync(path, 'a')
  return (line) => void writeSync(file, `${JSON.stringify(line)}\n`)
}

/** What was added, in the order in which it happened; nothing where nobody wrote yet. */
export function readJournal(path: string): readonly unknown[] {
  const text = readFileSync(path, { encoding: 'utf8', flag: 'a+' })
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}
