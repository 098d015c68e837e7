/** Returns the media type of a Content-Type header without its parameters, in lower case. */
export function mediaTypeOf(contentType: string | undefined): string | undefined {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase()
}

/** Returns whether an Accept header admits a media type. No header admits all. */
export function accepts(accept: string | undefined, type: string): boolean {
  if (accept === undefined || accept.trim() === '') return true
  const [family] = type.split('/', 1)
  return accept.split(',').some((entry) => {
    const [range = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase())
    if (parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) return false
    return range === '*/*' || range === `${family}/*` || range === type
  })
}
