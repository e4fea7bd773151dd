// Keys of the data of Secrets and ConfigMaps, as the API server has them.

const DATA_KEY = /^[-._a-zA-Z0-9]{1,253}$/

/** Whether a Secret or ConfigMap can have an entry of that name. */
export const isDataKey = (text: string): boolean =>
  DATA_KEY.test(text) && text !== '.' && !text.startsWith('..')
