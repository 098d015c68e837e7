import { openSync, readFileSync, writeSync } from 'node:fs'

/** Appends lines to a file that several processes write; a line survives a kill right after the call. */
export function openJournal(path: string): (line: object) => void {
  const file = openSync(path, 'a')
  return (line) => void writeSync(file, `${JSON.stringify(line)}\n`)
}

/** Returns the lines in the order in which they were appended; none where the file does not exist yet. */
export function readJournal(path: string): readonly unknown[] {
  const text = readFileSync(path, { encoding: 'utf8', flag: 'a+' })
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}
