/** An event of a stream. */
export interface ServerEvent {
  readonly id: string | undefined
  readonly event: string
  readonly data: string
}

/** Parses the text of server-sent events, in pieces of any size. Comments and retry times are passed over. */
export class EventParser {
  #rest = ''

  /** Returns the events that are complete now. */
  take(text: string): readonly ServerEvent[] {
    const blocks = (this.#rest + text).replaceAll('\r\n', '\n').split('\n\n')
    this.#rest = blocks.pop() ?? ''
    return blocks.flatMap((block) => eventOf(block) ?? [])
  }
}

function eventOf(block: string): ServerEvent | undefined {
  const data: string[] = []
  let id: string | undefined
  let event = 'message'
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon <= 0) continue
    const value = line.slice(colon + 1).replace(/^ /, '')
    const field = line.slice(0, colon)
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id') id = value
  }
  return data.length === 0 ? undefined : { id, event, data: data.join('\n') }
}
