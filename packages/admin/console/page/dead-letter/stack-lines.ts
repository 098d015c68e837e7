/** Stacks as people read them: the frames of the application first. Pure. */

/** A line of a stack. */
export interface StackLine {
  readonly text: string
  /** OWN: a frame of the application. FOREIGN: of a library or of the runtime. TEXT: no frame. */
  readonly kind: 'OWN' | 'FOREIGN' | 'TEXT'
}

/** A stack has hundreds of lines at most; a hostile one is cut. */
const maxLines = 500
const frame = /^\s*(?:at\s|\.\.\.\s\d+ more)/
const foreign =
  /node:|node_modules|<anonymous>|\(native|internal\/|\b(?:java|javax|jdk|sun|org\.springframework|org\.apache\.kafka)\./

/** Splits a stack into lines. */
export function stackLines(stack: string): readonly StackLine[] {
  return stack.split('\n', maxLines).map((text) => ({
    text: text.slice(0, 1_000),
    kind: !frame.test(text) ? 'TEXT' : foreign.test(text) ? 'FOREIGN' : 'OWN',
  }))
}

/** Returns the lines that are shown first: texts and own frames. Without own frames, the first ones. */
export function mainLines(lines: readonly StackLine[]): readonly StackLine[] {
  const main = lines.filter(({ kind }) => kind !== 'FOREIGN').slice(0, 12)
  return main.some(({ kind }) => kind === 'OWN') || lines.length <= main.length ? main : lines.slice(0, 6)
}
